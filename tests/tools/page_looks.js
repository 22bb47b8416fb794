// What a page looks like, measured in the browser: faults of the page as it is drawn now, one line each. page_looks.py evaluates
// this in a page, with the width of the window.
(width) => {
  const faults = new Set(), fault = (text) => faults.add(text);
  const all = (choice) => [...document.querySelectorAll(choice)].filter((one) => one.getClientRects().length > 0);
  const nameOf = (one) => `${one.tagName.toLowerCase()}${one.id ? '#' + one.id : ''}${one.getAttribute('class') ? '.' + one.getAttribute('class') : ''}`;

  // Colours: [red, green, blue, opacity].
  const colorOf = (text) => {
    const found = /^rgba?\((.*)\)$/.exec(text);
    if (!found) return [0, 0, 0, 0];
    const parts = found[1].split(/[\s,/]+/).map(Number);
    return [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const linear = (color) => color.slice(0, 3).map((part) => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = (color) => { const [r, g, b] = linear(color); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  // The distance in OKLab; from about 0.1 two areas are told apart without doubt.
  const lab = (color) => {
    const [r, g, b] = linear(color);
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b), m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
      s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
  };
  const distance = (a, b) => Math.hypot(...lab(a).map((part, i) => part - lab(b)[i]));
  const page = colorOf(getComputedStyle(document.body).backgroundColor);

  // What lies behind a text: the backgrounds of what it is in, or the shape that it stands on.
  function behind(one) {
    if (one.tagName === 'text') {
      one.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
      const box = one.getBoundingClientRect();
      const shapes = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2).filter((shape) => ['rect', 'circle'].includes(shape.tagName));
      const opaque = shapes.find((shape) => colorOf(getComputedStyle(shape).fill)[3] === 1);
      return opaque ? colorOf(getComputedStyle(opaque).fill) : page;
    }
    const backs = [];
    for (let at = one; at; at = at.parentElement) backs.push(colorOf(getComputedStyle(at).backgroundColor));
    return backs.reverse().reduce((back, front) => over(front, back), page);
  }

  const least = (value, limit) => value >= limit - 0.01;
  const found = document.documentElement.scrollWidth;
  if (found > width) fault(`overflow: the page is ${found} pixels wide`);
  for (const one of all('body *')) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (!own || ['SCRIPT', 'STYLE', 'OPTION', 'TITLE', 'title'].includes(one.tagName) || one.closest('td.dim')) continue;
    const style = getComputedStyle(one), shape = one.tagName === 'text';
    const value = contrast(colorOf(shape ? style.fill : style.color), behind(one));
    if (!least(value, 4.5)) fault(`contrast of ${nameOf(one)}: ${value.toFixed(2)}`);
    const size = parseFloat(style.fontSize) * (shape ? one.getScreenCTM().a : 1);
    if (!least(size, 9)) fault(`size of ${nameOf(one)}: ${size.toFixed(1)} pixels`);
    if (one.closest('svg') && !one.closest('title')) {
      const box = one.getBoundingClientRect(), whole = one.closest('svg').getBoundingClientRect();
      if (!(least(box.left, whole.left - 1) && least(whole.right + 1, box.right) && least(box.top, whole.top - 1) && least(whole.bottom + 1, box.bottom))) fault(`${nameOf(one)} is cut off`);
    } else if (['hidden', 'clip'].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1) {
      fault(`${nameOf(one)} is cut off`);
    }
  }

  // Bars, cells and lines that can be seen.
  for (const choice of ['#bar > div', '.of-rank', 'rect.cell', 'rect.cache-line']) {
    for (const one of all(choice)) {
      const box = one.getBoundingClientRect();
      if (!least(box.width, 2) || !least(box.height, 2)) fault(`${choice}: ${box.width.toFixed(1)} x ${box.height.toFixed(1)} pixels`);
    }
  }
  for (const one of all('.of-rank')) {
    if (!least(contrast(colorOf(getComputedStyle(one).backgroundColor), page), 3)) fault('contrast of .of-rank');
  }

  // A legend: texts and colours that differ, in the order of the bar.
  const background = (one) => getComputedStyle(one).backgroundColor, keys = all('.key');
  const differ = (kind, list) => list.forEach((a, i) => {
    if (!least(contrast(colorOf(a), page), 3)) fault(`contrast of ${kind} ${a}`);
    list.slice(0, i).forEach((b) => { if (!least(distance(colorOf(a), colorOf(b)), 0.1)) fault(`${kind} ${a} looks like ${b}`); });
  });
  differ('key', keys.map(background).filter((one) => colorOf(one)[3] > 0));
  const texts = keys.map((one) => one.parentElement.lastElementChild.textContent);
  if (new Set(texts).size < texts.length) fault(`two entries of the legend are the same: ${texts.join(' | ')}`);
  if (all('#bar > div').map(background).join() !== keys.map(background).join()) fault('the legend has other colours than the bar');
  if (keys.length > 0 && !keys.every((one) => one.getBoundingClientRect().width >= 8)) fault('a key of the legend is smaller than 8 pixels');

  // Lines of several ranks.
  differ('line', [...new Set(all('.way, polyline').map((one) => getComputedStyle(one).stroke))]);
  scrollTo(0, 0);
  return [...faults];
}
