// What the theme leaves out.
(() => {
  const page = document.documentElement;

  // On paper every page is light, whatever it is on the screen.
  let theme;
  addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.dataset.theme = theme;
  });

  // The theme looks for boxes that scroll, and lets the keyboard reach them, at each resize: unfolding is one too.
  const resized = () => dispatchEvent(new Event("resize"));
  addEventListener("toggle", resized, true);
  addEventListener("click", (event) => event.target.closest(".toggle, .admonition.dropdown") && resized());
})();
