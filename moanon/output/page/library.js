// Plotly, which draws zoomed plots. It comes packed with the page and is unpacked when first asked
// for: running it takes a browser more than a second, in which the page would answer nobody.

let libraryAsked;

/** Plotly, once it is ready; asked again, the same promise. */
function plotLibrary() {
  libraryAsked ??= unpackLibrary();
  return libraryAsked;
}

async function unpackLibrary() {
  if (document.readyState === "loading") {
    await new Promise((done) => addEventListener("DOMContentLoaded", done, { once: true }));
  }
  const packed = document.getElementById("plotly");
  const stream = new Blob([bytesOf(packed.textContent)])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(stream).text();
  await painted();
  // Not a script of its own address: the page's policy knows it by its digest, and no other.
  const script = make("script", {});
  script.textContent = code;
  packed.replaceWith(script);
  return window.Plotly;
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** After what was changed on the page can be seen; a hidden page is not waited for. */
function painted() {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 100);
  });
}
