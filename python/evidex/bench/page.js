"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  // Buttons are listed, since plotly has one that sends the data of a plot to its maker.
  const config = {
    displaylogo: false, responsive: true, typesetMath: false, plotlyServerURL: "",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  // Colours of the page, so that plots follow light and dark.
  function themed(layout) {
    const style = getComputedStyle(document.documentElement);
    const [ink, soft, line, panel] = ["--ink", "--soft", "--line", "--panel"].map(
      (name) => style.getPropertyValue(name).trim());
    const axis = (given) => ({
      gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true,
      ...given, title: { standoff: 10, font: { size: 13 }, ...given.title },
    });
    return {
      hovermode: "closest", margin: { l: 64, r: 16, t: 36, b: 48 }, height: 420,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif", size: 13, color: ink },
      hoverlabel: { bgcolor: panel, bordercolor: line, font: { color: ink }, align: "left" },
      legend: { orientation: "h", y: -0.22, yanchor: "top", x: 0 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
      ...layout,
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
    };
  }

  // What a plot shows now: a figure, with the recall axis that was chosen for its section.
  function chosen(plot) {
    const controls = document.getElementById(plot.dataset.controls);
    if (!controls) return figures[plot.dataset.figure];
    const setting = controls.querySelector("select").value;
    const figure = figures[plot.dataset.figure.replace("*", setting)];
    const view = figure.views[controls.querySelector("input:checked").value];
    return {
      data: figure.data.map((trace, at) => ({ ...trace, x: view.x[at] })),
      layout: { ...figure.layout, xaxis: view.xaxis },
    };
  }

  function draw(plot) {
    const { data, layout } = chosen(plot);
    Plotly.react(plot, data, themed(layout), config);
  }

  function copied(table, button) {
    const range = document.createRange();
    range.selectNode(table);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl-C";
    setTimeout(() => { button.textContent = "Copy table"; }, 2000);
  }

  const plots = [...document.querySelectorAll(".plot")];
  plots.forEach(draw);
  for (const controls of document.querySelectorAll(".controls")) {
    controls.hidden = false;
    controls.addEventListener("change", () => {
      plots.filter((plot) => plot.dataset.controls === controls.id).forEach(draw);
    });
  }
  for (const box of document.querySelectorAll(".table")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy table";
    button.addEventListener("click", () => copied(box.querySelector("table"), button));
    box.after(button);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach(draw));
})();
