import { accepted } from '../accepted.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { partyOf } from './calls.ts';
import { accountOf, type Calling, type ConnectedApp, type Faces, PASSWORD } from './faces.ts';
import type { Member, Model, Party, Role } from './model.ts';
import type { ModelledService } from './modelled-service.ts';

type InConsole = Extract<Calling, { face: 'console' }>;

/** Who calls the service in a history: API keys, apps of members, and members in the console, in the order in which they came. */
export class Callers {
  readonly #all: Calling[] = [];
  readonly #users: { readonly id: string; readonly email: string }[] = [];
  /** By the key. */
  readonly #apiKeyIds = new Map<string, string>();
  readonly #service: ModelledService;
  readonly #model: Model;
  readonly #faces: Faces;

  constructor(deps: { service: ModelledService; model: Model; faces: Faces }) {
    this.#service = deps.service;
    this.#model = deps.model;
    this.#faces = deps.faces;
  }

  get count(): number {
    return this.#all.length;
  }

  /** Numbers beyond the last one begin again; negative ones count from the end. */
  at(index: number): Calling {
    const calling = this.#all.at(index % this.#all.length);
    if (calling === undefined) throw new Error('There are no callers yet');
    return calling;
  }

  /** The same among those who act for a party. */
  of({ kind, id }: Party, index: number): Calling {
    const theirs = this.#all.filter((calling) => partyOf(calling).kind === kind && partyOf(calling).id === id);
    return theirs[index % theirs.length] ?? this.at(index);
  }

  members = (): readonly InConsole[] => this.#all.filter((calling) => calling.face === 'console');
  brandKey = (): Calling | undefined => this.#all.find((one) => one.face === 'key' && one.party.kind === 'Brand');
  userIds = (): readonly string[] => this.#users.map(({ id }) => id);
  emailOf = (userId: string): string => this.#users.find(({ id }) => id === userId)?.email ?? '';

  async issueKey(account: Party, permissions: number): Promise<void> {
    const { apiKeys } = this.#service.core.commands;
    const asked = { account: accountOf(account), permissions, label: 'Model' };
    const issued = accepted(await apiKeys.issue(asked, CONTEXT));
    this.#all.push({ face: 'key', secret: issued.key, party: account });
    this.#apiKeyIds.set(issued.key, issued.apiKeyId);
    this.#model.issueKey(issued.key, account, permissions);
  }

  async revokeKey(index: number): Promise<void> {
    const [key = '', apiKeyId = ''] = [...this.#apiKeyIds][index % this.#apiKeyIds.size] ?? [];
    const refusal = await this.#service.core.commands.apiKeys.revoke({ apiKeyId, waits: true }, CONTEXT);
    if (refusal !== undefined) throw new Error(refusal.details);
    this.#model.revokeKey(key);
  }

  /** A new user, or one of before, belongs to an account from now on. */
  async join(index: number, { kind, id }: Party, role: Role): Promise<void> {
    const { users } = this.#service.core;
    const [account, known] = [accountOf({ kind, id }), this.#users[index]];
    const email = `user-${this.#users.length}@example.com`;
    const isThere = known !== undefined && (await users.get(known.id)) !== undefined;
    const joined = accepted(
      isThere
        ? await users.addAccount(known.id, account, role, CONTEXT)
        : await users.add({ email, password: PASSWORD, accounts: [account], role }, CONTEXT),
    );
    if (!isThere) this.#users.push({ id: joined.id, email });
    const member = { userId: joined.id, kind, id };
    this.#model.join(joined.id, { kind, id }, role);
    const isNamed = ({ member: each }: InConsole) =>
      each.userId === member.userId && each.kind === kind && each.id === id;
    if (!this.members().some(isNamed)) this.#all.push({ face: 'console', member });
  }

  /** An app acts for a member, if the member can sign in for the account. */
  async connect(face: ConnectedApp['face'], member: Member): Promise<void> {
    const email = this.emailOf(member.userId);
    if (email === '' || this.#model.roleOf(member) === undefined) return;
    const name = `app ${this.#all.length}`;
    this.#all.push(await this.#faces.connect(face, name, member, email));
    this.#model.connect(name, member);
  }
}
