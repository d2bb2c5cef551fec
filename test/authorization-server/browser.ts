/** A page as a browser has it: where it is, and the forms on it. */
export type Page = {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
  /** Its Content-Security-Policy. */
  readonly policy: string;
};

/**
 * Just enough of a browser to sign in: keeps cookies (with their paths), follows redirects until they leave the
 * service, and sends forms as they stand in the page.
 */
export class Browser {
  readonly #origin: string;
  readonly #cookies = new Map<string, { value: string; path: string }>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  async open(url: string | URL): Promise<Page> {
    return this.#load(new URL(url, this.#origin), { method: 'GET' });
  }

  /** Fills in and sends the form that has `action` in its action. */
  async submit(page: Page, action: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
    const form = page.text.match(/<form.*?<\/form>/gs)?.find((found) => attribute(found, 'action').includes(action));
    if (form === undefined) throw new Error(`No form "${action}" on ${page.url} (${page.status}): ${page.text}`);
    const values = new URLSearchParams();
    for (const input of form.match(/<input[^>]*>/g) ?? [])
      if (attribute(input, 'type') === 'hidden') values.set(attribute(input, 'name'), attribute(input, 'value'));
    for (const [name, value] of Object.entries(fields)) values.set(name, value);
    const body = values.toString();
    return this.#load(new URL(attribute(form, 'action'), page.url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: this.#origin, ...headers },
      body,
    });
  }

  /** A form that some other page sends here. */
  async post(path: string, fields: URLSearchParams): Promise<Page> {
    return this.#load(new URL(path, this.#origin), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: fields.toString(),
    });
  }

  async #load(url: URL, init: RequestInit): Promise<Page> {
    const cookie = [...this.#cookies]
      .filter(([, { path }]) => url.pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html', cookie, ...init.headers },
    });
    for (const set of response.headers.getSetCookie()) this.#keep(set);
    const location = response.headers.get('location');
    const { status, headers } = response;
    const policy = headers.get('content-security-policy') ?? '';
    if (location === null) return { url, status, policy, text: await response.text() };
    const target = new URL(location, url);
    await response.body?.cancel();
    if (target.origin !== this.#origin) return { url: target, status, policy, text: '' };
    return this.#load(target, { method: 'GET' });
  }

  #keep(set: string) {
    const [pair = '', ...attributes] = set.split('; ');
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const path = attributes.find((part) => part.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
    if (value === '') this.#cookies.delete(name);
    else this.#cookies.set(name, { value, path });
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function attribute(tag: string, name: string): string {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
  return value.replace(/&(\w+|#39);/g, (_, entity: string) => ENTITIES[entity] ?? '');
}
