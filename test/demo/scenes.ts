/** Drawings of the rooms and houses of the demo, 1600 × 1000 pixels. */

const WIDTH = 1_600;
const HEIGHT = 1_000;

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const each = (count: number, draw: (index: number) => string): string => range(count).map(draw).join('');

/** The same for every drawing: numbers from 0 to 1 that look random. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const rect = (x: number, y: number, width: number, height: number, fill: string, more = ''): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}" ${more}/>`;
const circle = (x: number, y: number, radius: number, fill: string, more = ''): string =>
  `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}" ${more}/>`;
const path = (d: string, fill: string, more = ''): string => `<path d="${d}" fill="${fill}" ${more}/>`;
const line = (d: string, stroke: string, width: number, more = ''): string =>
  `<path d="${d}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linecap="round" ${more}/>`;

/** A gradient from the top to the bottom, or from the middle of a light to its edge. */
const down = (id: string, ...colours: readonly string[]): string =>
  `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops(colours)}</linearGradient>`;
const around = (id: string, inner: string, outer: string): string =>
  `<radialGradient id="${id}"><stop offset="0" stop-color="${inner}"/><stop offset="1" stop-color="${outer}"
stop-opacity="0"/></radialGradient>`;
const stops = (colours: readonly string[]): string =>
  colours.map((colour, index) => `<stop offset="${index / (colours.length - 1)}" stop-color="${colour}"/>`).join('');

const scene = (definitions: string, ...parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}">
<defs>${definitions}</defs>${parts.join('')}</svg>`;

const arch = (x: number, y: number, width: number, height: number, fill: string, more = ''): string =>
  path(`M${x} ${y + height}V${y + width / 2}a${width / 2} ${width / 2} 0 0 1 ${width} 0V${y + height}z`, fill, more);

/** A crane of the harbour, whose foot is at a place. */
const crane = (x: number, y: number, scale: number, fill: string): string =>
  `<g transform="translate(${x} ${y}) scale(${scale})">${path('M-30 0L-14-150h28L30 0h-10L6-130h-12L-20 0z', fill)}${path(
    'M-16-150h32v-30h-32zM-60-176l170-74 4 8-150 78z',
    fill,
  )}${line('M104-244V-120', fill, 3)}</g>`;

/** Lamps on a cord between two places. */
function lights(from: readonly [number, number], to: readonly [number, number], sag: number, count: number): string {
  const [[x1, y1], [x2, y2]] = [from, to];
  const cord = line(`M${x1} ${y1}Q${(x1 + x2) / 2} ${(y1 + y2) / 2 + 2 * sag} ${x2} ${y2}`, '#3a2c27', 3);
  const lamps = each(count, (index) => {
    const at = (index + 0.5) / count;
    const x = x1 + (x2 - x1) * at;
    const y = y1 + (y2 - y1) * at + 4 * sag * at * (1 - at) + 12;
    return circle(x, y, 34, 'url(#glow)') + circle(x, y, 8, '#fff3cf');
  });
  return cord + lamps;
}

/** Boards of a floor that run to a point. */
const boards = (horizon: number, count: number, colour: string): string =>
  each(count + 1, (index) => {
    const x = (index / count) * (WIDTH + 2_400) - 1_200;
    return line(`M${x} ${HEIGHT}L${WIDTH / 2 + (x - WIDTH / 2) * 0.36} ${horizon}`, colour, 3, 'opacity=".35"');
  });

/** A long table with a cloth, plates and chairs. */
const table = (x: number, y: number, width: number, scale: number, cloth = '#fbf6ea'): string => {
  const [depth, fall] = [56 * scale, 86 * scale];
  const chairs = each(Math.floor(width / (120 * scale)), (index) => {
    const at = x + (60 + index * 120) * scale;
    return (
      rect(at - 26 * scale, y - 74 * scale, 52 * scale, 66 * scale, '#5b3a26', `rx="${10 * scale}"`) +
      `<ellipse cx="${at}" cy="${y + 22 * scale}" rx="${30 * scale}" ry="${9 * scale}" fill="#e5ddca"/>` +
      rect(at + 34 * scale, y - 16 * scale, 8 * scale, 30 * scale, '#cfe0df', 'opacity=".9"')
    );
  });
  return (
    `<ellipse cx="${x + width / 2}" cy="${y + depth + fall}" rx="${width * 0.52}" ry="${26 * scale}" fill="#000" opacity=".18"/>` +
    chairs +
    path(`M${x + 18 * scale} ${y}h${width - 36 * scale}l${18 * scale} ${depth}h${-width}z`, cloth) +
    path(`M${x} ${y + depth}h${width}l${-10 * scale} ${fall}h${20 * scale - width}z`, '#e6ddc8') +
    each(Math.floor(width / (260 * scale)), (index) => {
      const at = x + (150 + index * 260) * scale;
      return (
        rect(at - 8 * scale, y - 6 * scale, 16 * scale, 34 * scale, '#8fb0a6', `rx="${5 * scale}"`) +
        circle(at, y - 22 * scale, 18 * scale, '#d98f7a') +
        circle(at - 15 * scale, y - 12 * scale, 12 * scale, '#e8b59c') +
        circle(at + 15 * scale, y - 10 * scale, 13 * scale, '#7d9b6c')
      );
    })
  );
};

const HARBOUR = down('sky', '#8fc3dd', '#d8ecee', '#f6e9d2') + down('water', '#7fb0bd', '#3f7486');

function hallByDay(): string {
  const windows = each(4, (index) => {
    const x = 120 + index * 356;
    const glass =
      rect(x - 20, 180, 300, 460, 'url(#sky)') +
      rect(x - 20, 470, 300, 180, 'url(#water)') +
      crane(x + 90 + index * 24, 472, 0.8 - index * 0.1, '#56717a') +
      rect(x - 20, 440, 110 + index * 20, 34, '#8d6f62');
    const bars = line(`M${x + 130} 190V640M${x + 10} 330h240M${x + 10} 480h240`, '#4b3a31', 9);
    return `<clipPath id="w${index}">${arch(x, 190, 260, 450, '#000')}</clipPath>${arch(x - 18, 172, 296, 486, '#f4eadb')}
<g clip-path="url(#w${index})">${glass}</g>${bars}${path(`M${x} 660h260l90 340h-330z`, '#fff6dd', 'opacity=".16"')}`;
  });
  const beams = rect(0, 60, WIDTH, 46, '#7a5233') + each(6, (index) => rect(60 + index * 290, 0, 44, 150, '#68442a'));
  const lamps = each(3, (index) => {
    const x = 320 + index * 480;
    return (
      line(`M${x} 100V210`, '#3b2d26', 5) +
      path(`M${x - 62} 250q62-84 124 0z`, '#2f5d52') +
      circle(x, 256, 16, '#fff1c4') +
      circle(x, 262, 90, 'url(#glow)')
    );
  });
  return scene(
    HARBOUR +
      down('wall', '#e9d9c2', '#d9c3a5') +
      down('floor', '#b5814f', '#8a5c36') +
      around('glow', '#ffe7a8', '#ffe7a8'),
    rect(0, 0, WIDTH, 720, 'url(#wall)'),
    windows,
    rect(0, 700, WIDTH, 300, 'url(#floor)'),
    boards(700, 26, '#6d4527'),
    rect(0, 690, WIDTH, 14, '#8c6a4b'),
    beams,
    lamps,
    table(130, 700, 560, 0.9),
    table(900, 700, 560, 0.9),
    table(350, 820, 900, 1.3),
  );
}

function hallInTheEvening(): string {
  const bricks = each(20, (row) =>
    each(14, (column) =>
      rect(column * 124 - (row % 2) * 62, row * 36, 120, 32, row % 3 === column % 3 ? '#7a4234' : '#86493a'),
    ),
  );
  const shelf = (y: number) =>
    rect(420, y, 760, 12, '#3a241a') +
    each(19, (index) => {
      const [x, colour] = [440 + index * 39, ['#3f6f5b', '#b8863b', '#7c2f2b', '#d9c9a0'][index % 4] ?? ''];
      return path(`M${x} ${y}v-58q0-10 7-14v-22h10v22q7 4 7 14v58z`, colour);
    });
  const stools = each(5, (index) => {
    const x = 330 + index * 235;
    return (
      rect(x - 48, 740, 96, 22, '#c08a4f', 'rx="11"') +
      line(`M${x - 26} 762L${x - 44} 950M${x + 26} 762L${x + 44} 950M${x - 38} 880h76`, '#2c2422', 9)
    );
  });
  const lamps = each(4, (index) => {
    const x = 340 + index * 306;
    return (
      line(`M${x} 0V190`, '#1f1816', 5) +
      path(`M${x - 52} 236q52-96 104 0z`, '#2a2220') +
      circle(x, 240, 150, 'url(#glow)') +
      circle(x, 240, 15, '#fff0c2')
    );
  });
  return scene(
    around('glow', '#ffcf7a', '#ffb347') +
      down('counter', '#6b4226', '#452914') +
      down('dusk', '#1a0f0c00', '#1a0f0caa'),
    rect(0, 0, WIDTH, HEIGHT, '#5d3228'),
    bricks,
    rect(400, 170, 800, 340, '#2c1a13', 'opacity=".75"'),
    shelf(310),
    shelf(420),
    shelf(500),
    rect(0, 720, WIDTH, 280, '#3b2619'),
    rect(160, 560, 1_280, 34, '#c9915a', 'rx="8"'),
    rect(190, 594, 1_220, 300, 'url(#counter)'),
    each(9, (index) => rect(220 + index * 132, 624, 108, 230, '#7a4d2e', 'opacity=".55"')),
    stools,
    lamps,
    each(6, (index) => rect(260 + index * 200, 512, 26, 48, '#e8f0ea', 'opacity=".7"')),
  );
}

function skyline(y: number, colour: string, seed: number): string {
  const next = numbers(seed);
  let x = -20;
  let d = `M-20 ${HEIGHT}`;
  while (x < WIDTH + 20) {
    const [width, height] = [50 + next() * 110, 30 + next() * 130];
    d += `L${x} ${y - height}h${width}`;
    x += width;
  }
  return path(`${d}V${HEIGHT}z`, colour);
}

function terraceAtSunset(): string {
  const rail = rect(0, 640, WIDTH, 16, '#46332f') + each(27, (index) => rect(index * 62, 656, 8, 130, '#46332f'));
  const sail = path('M120 70Q640 330 1180 90Q700 200 460 470Q330 250 120 70z', '#f7ead3', 'opacity=".95"');
  const loungers = each(2, (index) => {
    const x = 180 + index * 860;
    return (
      rect(x, 800, 380, 80, '#e9d3b4', 'rx="18"') +
      rect(x, 720, 380, 90, '#f3e3ca', 'rx="22"') +
      rect(x + 20, 876, 340, 40, '#5a4136') +
      rect(x + 50, 738, 90, 74, '#c8643f', 'rx="14"') +
      rect(x + 240, 738, 90, 74, '#2f6b62', 'rx="14"')
    );
  });
  const next = numbers(9);
  return scene(
    down('sky', '#35355f', '#9c4f71', '#ef8354', '#ffd08a') +
      down('water', '#f2a164', '#5b4a6b') +
      around('glow', '#ffe2a6', '#ffcf7a') +
      around('sun', '#fff2c9', '#ffb45c') +
      down('deck', '#8f6649', '#6a4733'),
    rect(0, 0, WIDTH, 620, 'url(#sky)'),
    circle(1_120, 470, 330, 'url(#sun)'),
    circle(1_120, 470, 78, '#fff0c4'),
    rect(0, 560, WIDTH, 120, 'url(#water)'),
    skyline(560, '#5a3d5c', 4),
    rect(0, 560, WIDTH, 100, 'url(#water)'),
    each(40, () => rect(900 + next() * 440, 566 + next() * 80, 20 + next() * 60, 3, '#ffe3a8', 'opacity=".7"')),
    crane(250, 566, 1.3, '#3c2b45'),
    crane(430, 566, 0.9, '#4a3450'),
    crane(1_440, 566, 1.1, '#3c2b45'),
    rail,
    rect(0, 780, WIDTH, 220, 'url(#deck)'),
    boards(780, 22, '#4c3122'),
    line('M120 70V780M1180 90V780', '#3b2b28', 14),
    sail,
    lights([120, 150], [1_180, 180], 60, 12),
    lights([1_180, 180], [1_620, 90], 40, 5),
    loungers,
    `<ellipse cx="800" cy="850" rx="150" ry="26" fill="#4b352b"/>`,
    rect(788, 850, 24, 110, '#3b2a22'),
    circle(770, 820, 14, '#d98f5a'),
    rect(820, 796, 14, 46, '#f4efe2', 'opacity=".8"'),
  );
}

function plane(x: number, y: number): string {
  const next = numbers(21);
  const leaves = each(70, () => {
    const [angle, far] = [next() * Math.PI * 2, Math.sqrt(next()) * 300];
    const colour = ['#5f8f4e', '#6f9f58', '#4f7d45', '#84ae63'][Math.floor(next() * 4)] ?? '';
    return circle(x + Math.cos(angle) * far * 1.25, y - 480 + Math.sin(angle) * far * 0.62, 52 + next() * 40, colour);
  });
  return (
    path(`M${x - 44} ${y}q30-200 10-420h70q-20 220 12 420z`, '#a5917a') +
    line(`M${x} ${y - 400}L${x - 190} ${y - 560}M${x + 10} ${y - 420}L${x + 200} ${y - 580}`, '#a5917a', 30) +
    leaves
  );
}

function works(front: string, pane: string): string {
  const bricks = each(22, (row) =>
    each(14, (column) => rect(column * 118 - (row % 2) * 59, row * 30, 115, 27, '#00000010')),
  );
  const windows = each(6, (index) => {
    const x = 70 + index * 262;
    return (
      arch(x - 10, 130, 200, 330, '#e9dccb') +
      arch(x, 142, 180, 310, pane) +
      line(`M${x + 90} 150V450M${x + 4} 240h172M${x + 4} 340h172`, '#3d3a3a', 7)
    );
  });
  return rect(0, 0, WIDTH, 640, front) + bricks + windows + rect(0, 60, WIDTH, 26, '#d9c8b2');
}

const cobbles = (colour: string, dark: string): string => {
  const next = numbers(33);
  return (
    rect(0, 620, WIDTH, 380, dark) +
    each(11, (row) => {
      const [y, size] = [630 + row * row * 2.6 + row * 8, 34 + row * 7];
      return each(
        Math.ceil(WIDTH / size) + 1,
        (column) =>
          `<rect x="${column * size - (row % 2) * (size / 2)}" y="${y.toFixed(0)}" width="${size - 5}" height="${(16 + row * 4).toFixed(0)}" rx="8"
fill="${colour}" opacity="${(0.55 + next() * 0.45).toFixed(2)}"/>`,
      );
    })
  );
};

function courtyardByDay(): string {
  return scene(
    down('sky', '#9ccbe0', '#e3f0ec'),
    works('#b06a50', '#7fa4ad'),
    rect(660, 360, 240, 280, '#35504a'),
    rect(676, 376, 100, 264, '#46675f'),
    rect(784, 376, 100, 264, '#46675f'),
    cobbles('#c9bca8', '#9b8d79'),
    `<ellipse cx="380" cy="850" rx="420" ry="80" fill="#5d5345" opacity=".35"/>`,
    plane(360, 850),
    lights([620, 210], [1_620, 150], 70, 12),
    table(900, 760, 560, 1),
    rect(560, 800, 120, 90, '#a5623f', 'rx="8"'),
    each(7, (index) => circle(575 + index * 15, 790 - (index % 3) * 18, 24, index % 2 ? '#6f9f58' : '#d98f7a')),
  );
}

function courtyardAtNight(): string {
  return scene(
    around('glow', '#ffd88f', '#ffb347') + down('night', '#10182c', '#2b2a45'),
    works('#4a2d2c', '#f2c877'),
    rect(0, 0, WIDTH, 640, '#0b1024', 'opacity=".35"'),
    cobbles('#6d6470', '#39343f'),
    lights([-20, 120], [820, 260], 70, 11),
    lights([820, 260], [1_620, 100], 70, 11),
    lights([-20, 300], [1_620, 330], 110, 18),
    line('M820 240V700', '#1d1720', 14),
    table(140, 770, 560, 1, '#f0e4cf'),
    table(900, 770, 560, 1, '#f0e4cf'),
    each(4, (index) => circle(320 + index * 320, 830, 120, 'url(#glow)', 'opacity=".5"')),
  );
}

function warehouse(): string {
  const next = numbers(5);
  const windows = each(4, (row) =>
    each(9, (column) => {
      const [x, y] = [330 + column * 106, 250 + row * 118];
      return (
        arch(x - 5, y - 5, 66, 96, '#e7d8c4') + arch(x, y, 56, 88, (row + column) % 4 === 0 ? '#ffe0a0' : '#57707a')
      );
    }),
  );
  return scene(
    HARBOUR,
    rect(0, 0, WIDTH, 760, 'url(#sky)'),
    circle(1_330, 180, 70, '#fff6dc'),
    skyline(720, '#a9c3c8', 12),
    crane(150, 740, 2, '#6b8791'),
    crane(1_450, 740, 1.6, '#7b959d'),
    path('M290 220L360 120h880l70 100z', '#4a5a5e'),
    rect(300, 220, 1_000, 540, '#a3553f'),
    each(27, (row) => rect(300, 220 + row * 20, 1_000, 2, '#8a4433', 'opacity=".5"')),
    path('M700 220V90l100-60 100 60v130z', '#a3553f'),
    arch(765, 110, 70, 90, '#57707a'),
    windows,
    arch(740, 600, 120, 160, '#2d6f8f'),
    rect(0, 740, WIDTH, 50, '#8d857a'),
    rect(0, 780, WIDTH, 220, 'url(#water)'),
    each(60, () => rect(next() * WIDTH, 800 + next() * 180, 40 + next() * 120, 4, '#d7ecec', 'opacity=".35"')),
    rect(330, 790, 940, 120, '#7c4636', 'opacity=".25"'),
  );
}

const printingWorks = (): string =>
  scene(
    down('sky', '#9ccbe0', '#f3ead6'),
    rect(0, 0, WIDTH, 700, 'url(#sky)'),
    skyline(420, '#b8cdd2', 30),
    `<g transform="translate(200 170) scale(.75)">${works('#a9614a', '#6f949d')}</g>`,
    path('M180 170l150-90 150 90 150-90 150 90 150-90 150 90 150-90 150 90z', '#59656a'),
    path('M1240 60h60v240h-60z', '#8d4b3a'),
    arch(700, 400, 200, 260, '#33514a'),
    cobbles('#c3b6a2', '#94866f'),
    plane(190, 800),
  );

/** The drawings by the name of their file. */
export const SCENES: { readonly [name: string]: string } = {
  'hall-day': hallByDay(),
  'hall-evening': hallInTheEvening(),
  'terrace-sunset': terraceAtSunset(),
  'courtyard-day': courtyardByDay(),
  'courtyard-night': courtyardAtNight(),
  'harbour-house': warehouse(),
  'union-house': printingWorks(),
};
