
(function () {
  var entries = document.querySelectorAll("[data-find] > *");
  var field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Search this page";
  field.setAttribute("aria-label", field.placeholder);
  field.oninput = function () {
    var words = field.value.toLowerCase().split(" ");
    entries.forEach(function (entry) {
      var text = entry.textContent.toLowerCase();
      entry.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
    });
  };
  document.querySelector("h1").insertAdjacentElement("afterend", field);
})();
