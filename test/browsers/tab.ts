/** What a test does in a tab of any browser. Positions are in CSS pixels of the window. */
export type Tab = {
  /** Opens an address and waits until the page has loaded. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page, which may be a promise of something that fits in JSON. */
  evaluate<T>(expression: string): Promise<T>;
  /** Presses and releases the mouse. */
  clickAt(x: number, y: number): Promise<void>;
  /** Presses keys one after the other: the characters of a text, or a key of `KEYS`. */
  type(text: string): Promise<void>;
  /** Sets the size of the page. */
  resize(width: number, height: number): Promise<void>;
  back(): Promise<void>;
  /** A PNG of what the window shows. */
  picture(): Promise<Buffer>;
  /** A PDF of the page on A4. Undefined if the browser's protocol cannot print. */
  print(): Promise<Buffer | undefined>;
};

/** A browser that runs, with a profile of its own. */
export type RunningBrowser = {
  /** Opens a tab beside the others, with the same cookies. */
  newTab(): Promise<Tab>;
  close(): Promise<void>;
};

/** How long a browser may take to answer a command. Without a limit, a page that never loads takes the whole time of its test. */
export const ANSWERS_WITHIN_MS = 30_000;

/** The keys that are no characters, by their code points in WebDriver. */
export const KEYS = { enter: '\uE007', tab: '\uE004', escape: '\uE00C', down: '\uE015' } as const;

/** The key actions of WebDriver that type a text. */
export const keyActions = (text: string) => [
  {
    type: 'key',
    id: 'keyboard',
    actions: [...text].flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ]),
  },
];

/** The pointer actions of WebDriver that click. */
export const clickActions = (x: number, y: number) => [
  {
    type: 'pointer',
    id: 'mouse',
    parameters: { pointerType: 'mouse' },
    actions: [
      { type: 'pointerMove', x, y, duration: 0 },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ],
  },
];
