import type { LeastRole } from '../../domain/roles.ts';
import type { ReadMessage } from '../../domain/thread.ts';
import type { Html, Interpolated } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import type { Problems } from './typed-form.ts';

export type Link = { readonly href: string; readonly label: Interpolated };

/** A page. */
export type PageContent = {
  readonly title: string;
  /** Whether the browser's tab shows the number of pending requests before the title. */
  readonly isCounted?: boolean;
  /** Default: the title. */
  readonly heading?: Interpolated;
  /** A sentence below the heading. */
  readonly lead?: Interpolated;
  /** The page that this one belongs to. */
  readonly back?: Link;
  /** Beside the heading. */
  readonly actions?: Interpolated;
  readonly main: Html;
  /** Listed below the heading. A page with problems has the status 422 unless `status` says otherwise. */
  readonly problems?: Problems;
  readonly status?: 200 | 403 | 404 | 409 | 503;
  readonly flash?: readonly Flash[];
  /** The message that the reader has read once the page is shown. */
  readonly read?: ReadMessage;
};

/** A redirect (303) to another page, which shows the message once. */
type Redirect = {
  readonly go: string;
  readonly flash?: Flash;
  /** Keeps this browser signed in after its session has ended with the others. */
  readonly startsSession?: true;
};

/** Missing, or not visible to this user (404). */
export type Missing = { readonly missing: string };

/** The user's role does not allow the page or form (403). */
export type Forbidden = { readonly forbidden: LeastRole | 'amounts' };

/** A CSV file, streamed while it is read. */
export type Download = {
  readonly download: {
    /** Without its ending. */
    readonly name: string;
    /** The file in parts. The last one holds the totals, without which it is incomplete. */
    readonly text: AsyncGenerator<string>;
  };
};

export type Answer = PageContent | Redirect | Missing | Forbidden | Download;
export const missing = (what: string): Missing => ({ missing: what });
/** @param least the least role that may do it; or only roles that see amounts */
export const forbidden = (least: Forbidden['forbidden']): Forbidden => ({ forbidden: least });

const goTo =
  (kind: Flash['kind']) =>
  (go: string, text: string): Redirect => ({ go, flash: { kind, text } });

/** Redirects to a page with a message that something was done. */
export const done = goTo('done');
/** Redirects to a page with the reason why nothing was done. */
export const notDone = goTo('problem');
/** Redirects to a page with a message that there was nothing to do. */
export const nothingToDo = goTo('notice');
