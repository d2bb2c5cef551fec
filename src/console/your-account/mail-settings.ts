import { type Account, accountKey } from '../../domain/account.ts';
import { EMAIL } from '../../domain/limits.ts';
import type { Role } from '../../domain/roles.ts';
import type { Space } from '../../domain/space.ts';
import { counted, shortened } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import {
  ALWAYS_KINDS,
  CHOSEN_KINDS,
  type ChosenKind,
  isOnByDefault,
  labelOf,
  mayGet,
  whenOf,
} from '../../mail/kinds.ts';
import { type MailChoices, type Preferences, wants } from '../../mail/preferences.ts';
import { type Answer, done, missing, type PageContent } from '../parts/answer.ts';
import { choices, field, hiddenField, postForm, problemOf, select } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { type Form, idOf, type Problems } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';

const START = '/console/mail';
const PATH = `${START}/settings`;
const SPACE_PATH = `${PATH}/space`;
const CONTACT_PATH = `${START}/contact`;

const NO_MAIL: Flash = {
  kind: 'notice',
  text: 'This service sends no mail yet: its operator has not set up a mail server.',
};

const CONFIRM_IT = 'A link to confirm the contact address was sent to it. Until then, the one from before is used.';
const CANNOT_CONFIRM = 'This service sends no mail to confirm an address. Its operator can set it.';

/** Which mail the user gets for the account, and at which address the account is reached. */
export function mailSettingsPages(routes: Routes, { queries, mail, mailContent, contactConfirmation }: PageDeps): void {
  const { preferences, contacts } = mailContent;

  /** The settings of the user, unless the address names another account, which the page then offers to switch to. */
  const read = async ({ user, account, query }: Visit): Promise<Preferences | undefined> =>
    ['', accountKey(account)].includes(query.text('of')) ? preferences.get(user.id, accountKey(account)) : undefined;

  routes.get(PATH, 'Viewer', async (visit) => {
    const chosen = await read(visit);
    if (chosen === undefined) return missing('page');
    const spaces = visit.account.kind === 'Community' ? await queries.spaces.list(visit.account) : [];
    const contact = await contacts.of(visit.account);
    const pending = (await contacts.pending(visit.account))?.address;
    return { ...settingsPage(visit, { chosen, spaces, contact, pending }), flash: mail.isConfigured ? [] : [NO_MAIL] };
  });

  routes.post(PATH, 'Viewer', async (visit) => {
    const { user, account, form, role } = visit;
    const ticked = form.all('kind');
    const isOn = (kind: ChosenKind) => ticked.includes(kind);
    const differing = kindsFor(account, role).filter((kind) => isOn(kind) !== isOnByDefault(role));
    const chosen = Object.fromEntries(differing.map((kind) => [kind, isOn(kind)]));
    await preferences.choose(user.id, accountKey(account), undefined, chosen);
    return done(PATH, 'Mail settings saved.');
  });

  routes.get(SPACE_PATH, 'Viewer', async (visit) => {
    const [chosen, space] = await Promise.all([read(visit), spaceOf(visit.account, visit.query)]);
    if (chosen === undefined || space === undefined) return missing('space');
    return spacePage(visit, space, chosen);
  });

  routes.post(SPACE_PATH, 'Viewer', async (visit) => {
    const { user, account, form } = visit;
    const space = await spaceOf(account, form);
    if (space === undefined) return missing('space');
    await preferences.choose(user.id, accountKey(account), space.spaceId, choicesIn(visit));
    return done(PATH, `Mail settings saved for ${namedText(shortened(space.name))}.`);
  });

  routes.get(CONTACT_PATH, 'Manager', async (visit) => {
    const typed = visit.restored?.text('contact');
    return contactPage(visit, typed ?? (await contacts.of(visit.account)) ?? '');
  });

  routes.post(CONTACT_PATH, 'Manager', async (visit): Promise<Answer> => {
    const typed = visit.form.text('contact');
    if (typed !== '' && !contactConfirmation.sendsMail) return contactPage(visit, typed, { contact: CANNOT_CONFIRM });
    const refusal = await contactConfirmation.request(visit.account, typed, visit.user.id);
    if (refusal !== undefined) return contactPage(visit, typed, problemOf(refusal, { contact: 'Contact address' }));
    return done(PATH, typed === '' ? 'Contact address removed.' : CONFIRM_IT);
  });

  const spaceOf = (account: Account, fields: Form): Promise<Space | undefined> => {
    const id = idOf(fields.text('space'));
    return id === undefined || account.kind !== 'Community'
      ? Promise.resolve(undefined)
      : queries.spaces.get(account, id);
  };
}

/** The kinds that a member chooses. */
const kindsFor = (account: Account, role: Role): readonly ChosenKind[] =>
  CHOSEN_KINDS.filter((kind) => mayGet(kind, account.kind, role));

type Settings = {
  readonly chosen: Preferences;
  readonly spaces: readonly Space[];
  readonly contact: string | undefined;
  /** The contact address that is not confirmed yet. */
  readonly pending: string | undefined;
};

function settingsPage(visit: Visit, settings: Settings): PageContent {
  const { account, accountName } = visit;
  const isCommunity = account.kind === 'Community';
  return {
    title: 'Mail settings',
    actions: may(visit, 'Manager') && buttonLink(START, 'Failed mail', 'quiet'),
    lead: html`Which mail ${named(visit.user.email)} gets as a member of ${named(accountName)}.`,
    main: html`<div class="split"><div>${choicesForm(visit, settings)}</div>
<div>${isCommunity && settings.spaces.length > 0 && spacesCard(settings)}${alwaysCard(visit)}
${contactCard(visit, settings)}</div></div>`,
  };
}

function choicesForm(visit: Visit, { chosen }: Settings): Html {
  const { account, role, restored } = visit;
  const isOn = (kind: ChosenKind) => restored?.all('kind').includes(kind) ?? wants(chosen, kind, role, undefined);
  const list = kindsFor(account, role).map((kind) => ({
    value: kind,
    label: labelOf(kind),
    hint: whenOf(kind, account.kind),
    checked: isOn(kind),
  }));
  const label = account.kind === 'Community' ? 'For all spaces' : 'For all bookings';
  return postForm(visit, PATH, 'card fields')`${choices({ name: 'kind', label }, 'checkbox', list)}
<p class="hint">You get no mail about what you did yourself.</p>
<div><button class="button">Save</button></div>`;
}

/** The spaces whose settings differ, and a choice of another one. */
function spacesCard({ chosen, spaces }: Settings): Html {
  const own = spaces.filter(({ spaceId }) => chosen.spaces[String(spaceId)] !== undefined);
  const summary = ({ spaceId }: Space) => {
    const entries = Object.entries(chosen.spaces[String(spaceId)] ?? {});
    const on = entries.filter(([, isOn]) => isOn).length;
    return [on > 0 && `${on} on`, on < entries.length && `${entries.length - on} off`].filter(Boolean).join(', ');
  };
  const options = spaces.map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(shortened(name)) }));
  return html`<section class="card stack"><h2>Single spaces</h2>
<p class="muted">A space can differ from the choice for all spaces.</p>${
    own.length > 0 &&
    html`<ul class="bullets">${own.map(
      (space) =>
        html`<li><a href="${SPACE_PATH}?space=${space.spaceId}">${named(space.name)}</a>
<span class="muted small nowrap">${summary(space)}</span></li>`,
    )}</ul>`
  }<form class="fields" method="get" action="${SPACE_PATH}">
${select({ name: 'space', label: `Choose from ${counted(spaces.length, 'space')}`, options })}
<div><button class="button quiet">Choose mail of this space</button></div></form></section>`;
}

const alwaysCard = ({ account, role }: Visit): Html =>
  html`<section class="card stack"><h2>Always sent</h2>
<p class="muted">Mail about the security of the account cannot be turned off.</p>
<ul class="bullets">${ALWAYS_KINDS.filter((kind) => mayGet(kind, account.kind, role)).map(
    (kind) => html`<li>${whenOf(kind, account.kind)}</li>`,
  )}</ul></section>`;

const contactCard = (visit: Visit, { contact, pending }: Settings): Html =>
  html`<section class="card stack"><h2>Contact address</h2>
<p>${contact === undefined ? 'None is set, so replies to mail do not reach you.' : named(contact)}</p>
${pending !== undefined && html`<p>${named(pending)} is used once it is confirmed: a link was sent to it.</p>`}
<p class="muted">${othersOf(visit)} reply to this address when they answer mail about your bookings.</p>
${may(visit, 'Manager') && html`<div>${buttonLink(CONTACT_PATH, 'Change contact address', 'quiet')}</div>`}</section>`;

const othersOf = ({ account }: Visit): string => (account.kind === 'Community' ? 'Brands' : 'Communities');

/** The choices of a single space: a kind that follows those for all spaces has none. */
function choicesIn({ form, account, role }: Visit): MailChoices {
  const chosen = kindsFor(account, role).map((kind) => [kind, form.text(kind)] as const);
  return Object.fromEntries(
    chosen.flatMap(([kind, value]) => (value === 'on' || value === 'off' ? [[kind, value === 'on']] : [])),
  );
}

function spacePage(visit: Visit, space: Space, chosen: Preferences): PageContent {
  const { account, role } = visit;
  const restored = visit.restored?.text('space') === String(space.spaceId) ? visit.restored : undefined;
  const own = chosen.spaces[String(space.spaceId)] ?? {};
  const current = (kind: ChosenKind): string => {
    const isOn = own[kind];
    if (isOn === undefined) return '';
    return isOn ? 'on' : 'off';
  };
  const options = (kind: ChosenKind) => [
    { value: '', label: `As for all spaces (${wants(chosen, kind, role, undefined) ? 'on' : 'off'})` },
    { value: 'on', label: 'On' },
    { value: 'off', label: 'Off' },
  ];
  const fields = kindsFor(account, role).map((kind) =>
    select({
      name: kind,
      label: labelOf(kind),
      hint: whenOf(kind, account.kind),
      options: options(kind),
      value: restored?.text(kind) ?? current(kind),
    }),
  );
  return {
    title: 'Mail of a space',
    heading: html`Mail about ${named(space.name)}`,
    back: { href: PATH, label: 'Mail settings' },
    main: postForm(visit, SPACE_PATH, 'card fields narrow')`${hiddenField('space', space.spaceId)}${fields}
<div><button class="button">Save</button></div>`,
  };
}

function contactPage(visit: Visit, typed: string, problems: Problems = {}): PageContent {
  const content = html`${field({
    name: 'contact',
    label: 'Contact address',
    type: 'email',
    value: typed,
    problems,
    hint: `${othersOf(visit)} reply to it. We send a link to confirm it. Leave it empty for none.`,
    attributes: { maxlength: EMAIL.max, autocomplete: 'email', spellcheck: 'false' },
  })}
<div><button class="button">Save</button></div>`;
  return {
    title: 'Contact address',
    lead: html`Where ${named(visit.accountName)} can be reached.`,
    back: { href: PATH, label: 'Mail settings' },
    problems,
    main: postForm(visit, CONTACT_PATH, 'card fields narrow')`${content}`,
  };
}
