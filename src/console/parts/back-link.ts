import type { FastifyRequest } from 'fastify';
import { type Html, html } from '../../html/html.ts';
import type { Link } from './answer.ts';
import { hiddenField } from './forms.ts';
import { labelOf } from './frame.ts';
import { addressOf } from './links.ts';
import { Form } from './typed-form.ts';
import type { Visit } from './visit.ts';

/**
 * The link from the page of a booking, space or delivery back to the list or calendar that the reader came from, with its filter and
 * page. The browser sends the address of that page (`Referer`); forms and links of the opened page then carry it as `via`.
 */

const FIELD = 'via';
/** In a form on the list itself: what it does leads back to the list, not to the page of what it is about. */
const RETURN = 'return';
const CALENDARS = /^\/console\/calendar(?:(?:\/week)?\/\d{4}-\d{2}-\d{2})?(?:\?[\w\-.~%&=:+,*]*)?$/;
const LISTS =
  /^\/console\/(?:inbox|customers|find|bookings|spaces|reviews|charges|webhooks\/[\w-]+)(?:\?[\w\-.~%&=:+,*]*)?$/;
const CHOSEN_SPACES = /^\/console\/find\/(?:shortlist|compare)(?:\?[\w&=]*)?$/;
/**
 * The longest address of a list, in characters: more than the longest search for spaces. Carried in another address it grows to 8,000, and a
 * request, which has one in its own address and one as the page that it comes from, stays within the 16 KiB of its headers.
 */
const LONGEST = 4_600;

/** The list that a page was opened from. Undefined if it was not. @param restored the form that the page fills in again */
export function listOpenedFrom(request: FastifyRequest, publicUrl: string, restored?: Form): string | undefined {
  const form = restored ?? new Form(request.body);
  const given = new Form(request.query).text(FIELD) || form.text(FIELD);
  const { referer = '' } = request.headers;
  const path = given || (referer.startsWith(`${publicUrl}/`) ? referer.slice(publicUrl.length) : '');
  const isList = [CALENDARS, LISTS, CHOSEN_SPACES].some((pattern) => pattern.test(path));
  return path.length <= LONGEST && isList ? path : undefined;
}

type WithVia = Pick<Visit, 'via'>;

/** The link back to the list. @param otherwise the page that it belongs to, whose label stays if the reader came from there */
export const backTo = ({ via, account }: WithVia & Pick<Visit, 'account'>, otherwise: Link): Link =>
  via === undefined
    ? otherwise
    : { href: via, label: isPage(otherwise.href, via) ? otherwise.label : (labelOf(account, via) ?? otherwise.label) };

const isPage = (path: string, address: string): boolean => address.split('?')[0] === path;

/** The address of a page that leads back to the same list. */
export const withVia = ({ via }: WithVia, path: string): string => addressOf(path, { [FIELD]: via });

/** The same for a form. */
export const viaField = ({ via }: WithVia): Html | undefined =>
  via === undefined ? undefined : hiddenField(FIELD, via);

/** For a form on a list, which leads back to it. @param list its address */
export const returnFields = (list: string): Html => html`${hiddenField(FIELD, list)}${hiddenField(RETURN, 'yes')}`;

/** The list that a form was sent from, and leads back to. Undefined if it leads to the page of what it is about. */
export const listToReturnTo = ({ via, form }: Pick<Visit, 'via' | 'form'>): string | undefined =>
  form.text(RETURN) === 'yes' ? via : undefined;

/** For a form that confirms another: where that one leads. */
export const sourceFields = (visit: Pick<Visit, 'via' | 'form'>): Html | undefined => {
  const list = listToReturnTo(visit);
  return list === undefined ? viaField(visit) : returnFields(list);
};
