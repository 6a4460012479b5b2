// Elements of the page. Text from the data enters it as text nodes and attribute values only.

/** An element with attributes; children are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The same for a drawing (SVG). */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function quietButton(text, title, onclick) {
  const attributes = { type: "button", class: "quiet", title, "aria-label": title, onclick };
  return make("button", attributes, text);
}

/** A measure's name as text that can be broken after an underscore. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);
}

/** Announce something to those who listen to the page. */
function say(text) {
  document.getElementById("said").textContent = text;
}

/** Whether people point with a finger here. */
const isTouched = matchMedia("(pointer: coarse)").matches;
