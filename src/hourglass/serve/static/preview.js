// The live preview: whenever the question changes, the server's own preview is put in place.
"use strict";
(() => {
  const form = document.querySelector("form[data-preview]");
  const place = document.getElementById("preview");
  if (!form || !place) return;
  form.querySelector("[data-refresh]").hidden = true;
  let waiting = 0;
  let latest = 0;
  const refresh = async () => {
    const turn = ++latest;
    const address = form.dataset.preview + "?" + new URLSearchParams(new FormData(form));
    place.setAttribute("aria-busy", "true");
    try {
      const reply = await fetch(address, { credentials: "same-origin" });
      const text = await reply.text();
      if (turn !== latest) return;
      if (reply.ok) {
        place.innerHTML = text;
      } else {
        const note = document.createElement("p");
        note.className = "help";
        const told = new DOMParser().parseFromString(text, "text/html").querySelector("[role=alert]");
        note.textContent = told ? told.textContent : "There is no preview for this choice.";
        place.replaceChildren(note);
      }
    } catch {
      // The preview that is there stays; the form works without it.
    } finally {
      if (turn === latest) place.removeAttribute("aria-busy");
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
})();
