import type { Both, Calls } from './calls.ts';
import type { Calling, Faces } from './faces.ts';
import type { Model } from './model.ts';

/** The webhooks of a history, which are registered over REST alone. Each has a path of its own. */
export class Registrations {
  readonly #faces: Faces;
  readonly #calls: Calls;
  readonly #model: Model;
  readonly #origin: string;
  /** Of the registrations, in the order in which they came. */
  readonly #paths = new Map<string, string>();

  constructor(deps: { faces: Faces; calls: Calls; model: Model; origin: string }) {
    this.#faces = deps.faces;
    this.#calls = deps.calls;
    this.#model = deps.model;
    this.#origin = deps.origin;
  }

  pathOf = (id: string): string => this.#paths.get(id) ?? '';

  async register(calling: Calling, events: number): Promise<Both | undefined> {
    const client = await this.#clientOf(calling);
    if (client === undefined) return undefined;
    const path = `/${this.#paths.size}`;
    const asked = { url: `${this.#origin}${path}`, events };
    const { body, ...answer } = await this.#faces.rest('POST', '/webhooks', client.secret, asked);
    const promised = this.#model.registerWebhook(client.name, events, () => {
      const { id } = body as { readonly id: string };
      this.#paths.set(id, path);
      return id;
    });
    return [answer, promised];
  }

  async remove(calling: Calling, index: number): Promise<Both | undefined> {
    const client = await this.#clientOf(calling);
    if (client === undefined) return undefined;
    const id = [...this.#paths.keys()][index % (this.#paths.size || 1)] ?? 'wh_none';
    const answer = await this.#faces.rest('DELETE', `/webhooks/${id}`, client.secret);
    return [answer, this.#model.removeWebhook(client.name, id)];
  }

  async list(calling: Calling): Promise<Both | undefined> {
    const client = await this.#clientOf(calling);
    if (client === undefined) return undefined;
    const answer = await this.#faces.rest('GET', '/webhooks', client.secret);
    const listed = answer.body as readonly { readonly id: string }[] | undefined;
    const ids = listed?.map(({ id }) => id).toSorted();
    return [{ ...answer, ...(ids !== undefined && { body: ids }) }, this.#model.webhooks(client.name)];
  }

  async #clientOf(calling: Calling): Promise<{ readonly name: string; readonly secret: string } | undefined> {
    if (calling.face !== 'key' && calling.face !== 'api') return undefined;
    const name = calling.face === 'key' ? calling.secret : calling.name;
    return { name, secret: await this.#calls.secretOf(calling) };
  }
}
