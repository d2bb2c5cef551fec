type Credentials = { readonly email: string; readonly password: string };
type Fields = Readonly<Record<string, string | readonly string[]>>;
type Request = {
  readonly method?: 'GET' | 'POST';
  readonly body?: URLSearchParams | FormData;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * A minimal browser: keeps cookies (with their paths), follows redirects until they leave the service, and submits forms as
 * they are on the page.
 */
export class Browser {
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** By name and path. */
  readonly #cookies = new Map<string, { readonly name: string; readonly value: string; readonly path: string }>();

  /** @param headers sent with each request */
  constructor(origin: string, headers: Readonly<Record<string, string>> = {}) {
    this.#origin = origin;
    this.#headers = headers;
  }

  /** A browser in which a user has signed in to the console. */
  static async signedIn(origin: string, user: Credentials): Promise<Browser> {
    const browser = new Browser(origin);
    await browser.signIn(user);
    return browser;
  }

  cookie(name: string): string | undefined {
    return [...this.#cookies.values()].findLast((cookie) => cookie.name === name)?.value;
  }

  /** The names of the cookies that begin with `prefix`. */
  cookieNames(prefix = ''): readonly string[] {
    return [...this.#cookies.values()].map(({ name }) => name).filter((name) => name.startsWith(prefix));
  }

  setCookie(name: string, value: string): void {
    this.#cookies.set(`${name} /`, { name, value, path: '/' });
  }

  /** Opens a page, following redirects. */
  async open(url: string | URL): Promise<Page> {
    return this.#follow(await this.request(url));
  }

  /** Fills in and submits the form of a page whose action ends with or matches `action`. */
  async send(page: Page, action: string | RegExp, fields: Fields = {}, headers?: Request['headers']): Promise<Page> {
    const { target, body } = page.form(action, fields);
    return this.#follow(await this.request(target, { method: 'POST', body, ...(headers && { headers }) }));
  }

  /** The same for a form with files. */
  async upload(
    page: Page,
    action: string | RegExp,
    files: Readonly<Record<string, Blob | readonly Blob[]>> = {},
  ): Promise<Page> {
    const { target, body } = page.form(action);
    const form = new FormData();
    for (const [name, value] of body) if (!(name in files)) form.append(name, value);
    for (const [name, each] of Object.entries(files))
      for (const file of [each].flat()) form.append(name, file, 'events.csv');
    return this.#follow(await this.request(target, { method: 'POST', body: form }));
  }

  /** Submits a form from a page of another site. */
  async post(url: string, body: URLSearchParams): Promise<Page> {
    return this.#follow(await this.#fetch(new URL(url, this.#origin), { method: 'POST', body }));
  }

  /** Signs in to the console. */
  async signIn({ email, password }: Credentials): Promise<Page> {
    return this.send(await this.open('/console'), '/sign-in', { email, password });
  }

  /** Sends one request as a page of the service would, without following redirects. */
  async request(url: string | URL, { headers, ...request }: Request = {}): Promise<Page> {
    const origin = request.method === 'POST' ? { origin: this.#origin } : {};
    return this.#fetch(new URL(url, this.#origin), { ...request, headers: { ...origin, ...headers } });
  }

  /** The header with the cookies that are sent to an address. */
  cookiesFor(url: URL): string {
    return [...this.#cookies.values()]
      .filter(({ path }) => url.pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  async #fetch(url: URL, request: Request): Promise<Page> {
    const cookie = this.cookiesFor(url);
    const answer = await fetch(url, {
      ...request,
      redirect: 'manual',
      // Compressing and decompressing every page would be a tenth of the processor time of these tests.
      headers: { accept: 'text/html', 'accept-encoding': 'identity', cookie, ...this.#headers, ...request.headers },
    });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    const { status, headers } = answer;
    return new Page({ url, status, headers, text: await answer.text() });
  }

  async #follow(first: Page): Promise<Page> {
    let page = first;
    for (let hops = 0; page.location !== undefined; hops += 1) {
      if (hops > 10) throw new Error(`Too many redirects at ${page.url}`);
      if (page.location.origin !== this.#origin) return new Page({ ...page, url: page.location, text: '' });
      page = await this.request(page.location);
    }
    return page;
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const path = attributes.find((one) => one.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
    if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) this.#cookies.delete(`${name} ${path}`);
    else this.#cookies.set(`${name} ${path}`, { name, value, path });
  }
}

type Answer = Pick<Page, 'url' | 'status' | 'headers' | 'text'>;

/** A page as the browser received it. After a redirect that left the service, only its URL. */
export class Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;

  constructor({ url, status, headers, text }: Answer) {
    this.url = url;
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  /** The target of a redirect. */
  get location(): URL | undefined {
    const location = this.headers.get('location');
    return location === null ? undefined : new URL(location, this.url);
  }

  /** The Content-Security-Policy. */
  get policy(): string {
    return this.headers.get('content-security-policy') ?? '';
  }

  /** The token of its forms. @throws if no user is signed in */
  get csrf(): string {
    return this.form('/sign-out').body.get('csrf') ?? '';
  }

  get title(): string {
    return /<title>(.*?)<\/title>/.exec(this.text)?.[1] ?? '';
  }

  /** The flash messages. */
  get flash(): string {
    return [...this.text.matchAll(/<div class="flash [^"]*"[^>]*>.*?<p>(.*?)<\/p>/gs)]
      .map(([, text]) => text)
      .join('\n');
  }

  /**
   * What submitting a form would send, and where: the form whose action ends with or matches `action`, or the one of a button that
   * sends it there. Controls outside of a form that name it belong to it.
   */
  form(action: string | RegExp, fields: Fields = {}): { readonly target: URL; readonly body: URLSearchParams } {
    const fits = (to: string) => (typeof action === 'string' ? to.endsWith(action) : action.test(to));
    const forms = [...this.text.matchAll(/<form\b[^>]*method="post"[^>]*>.*?<\/form>/gs)].map(([found]) => found);
    const button = [...this.text.matchAll(/<button\b[^>]*>/g)]
      .map(([tag]) => tag)
      .find((tag) => fits(attribute(tag, 'formaction') ?? ''));
    const owner = button === undefined ? undefined : attribute(button, 'form');
    const form =
      forms.find((found) => fits(attribute(found, 'action') ?? '')) ??
      forms.find((found) => owner !== undefined && attribute(found, 'id') === owner);
    if (form === undefined) throw new Error(`No form "${action}" on ${this.url} (${this.status}): ${this.text}`);
    const id = attribute(form, 'id');
    const outside = [...this.text.matchAll(/<input\b[^>]*>/g)]
      .map(([tag]) => tag)
      .filter((tag) => id !== undefined && attribute(tag, 'form') === id);
    const inside = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag);
    const body = new URLSearchParams();
    for (const tag of [...inside.filter((tag) => attribute(tag, 'form') === undefined), ...outside]) {
      const name = attribute(tag, 'name');
      const type = attribute(tag, 'type');
      const picks = type === 'checkbox' || type === 'radio';
      if (name === undefined || name in fields || (picks && !/\schecked\b/.test(tag))) continue;
      body.append(name, attribute(tag, 'value') ?? (picks ? 'on' : ''));
    }
    for (const [tag, text = ''] of form.matchAll(/<textarea\b[^>]*>\n?(.*?)<\/textarea>/gs)) {
      const name = attribute(tag, 'name');
      if (name !== undefined && !(name in fields)) body.append(name, textOf(text));
    }
    for (const [tag, options = ''] of form.matchAll(/<select\b[^>]*>(.*?)<\/select>/gs)) {
      const name = attribute(tag, 'name');
      const chosen = /<option\b[^>]*\sselected\b[^>]*>/.exec(options) ?? /<option\b[^>]*>/.exec(options);
      if (name !== undefined && !(name in fields) && chosen !== null)
        body.append(name, attribute(chosen[0], 'value') ?? '');
    }
    const pressed = fits(attribute(form, 'action') ?? '') ? undefined : button;
    const name = pressed === undefined ? undefined : attribute(pressed, 'name');
    if (pressed !== undefined && name !== undefined && !(name in fields))
      body.append(name, attribute(pressed, 'value') ?? '');
    for (const [name, value] of Object.entries(fields))
      for (const one of typeof value === 'string' ? [value] : value) body.append(name, one);
    const to = attribute(pressed ?? '', 'formaction') ?? attribute(form, 'action') ?? '';
    return { target: new URL(to, this.url), body };
  }
}

/** An attribute of the first tag in `html`. */
function attribute(html: string, name: string): string | undefined {
  const value = new RegExp(`^[^>]*\\s${name}="([^"]*)"`).exec(html)?.[1];
  return value === undefined ? undefined : textOf(value);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const textOf = (html: string): string =>
  html.replace(/&(\w+|#39);/g, (written, entity: string) => ENTITIES[entity] ?? written);
