// A click on the text of one of Prefect's lists reaches its handler twice, so that the list opens and closes at once.
document.addEventListener("click", (click) => {
  const list = click.isTrusted && click.target.closest?.(".p-select-button");
  if (!list) return;
  const isOpen = () => list.classList.contains("p-select--open");
  const before = isOpen();
  // After Prefect's own handlers: one more, which the list's frame hears once, if the two have undone each other.
  setTimeout(() => { if (isOpen() === before) list.click(); });
}, true);
