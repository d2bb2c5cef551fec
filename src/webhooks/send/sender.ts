/**
 * Why there was no response. `Connection`: it broke, or there was no route; `Protocol`: the response was not HTTP; `Unreadable`:
 * nothing was sent, because a sealed text cannot be opened.
 */
export type SendErrorType =
  | 'Timeout'
  | 'Dns'
  | 'Refused'
  | 'Tls'
  | 'Forbidden'
  | 'Connection'
  | 'Protocol'
  | 'Unreadable';

/** What is stored of a POST. Either `status` or `error` is present. */
export type PostResult = {
  readonly status?: number;
  readonly error?: { readonly type: SendErrorType; readonly message: string };
  /** IP address of the receiver, if it got that far. */
  readonly address?: string;
  /** Milliseconds. */
  readonly duration: number;
  /** The first KiB of the response body. */
  readonly answer: string;
};

/** The result of one POST. */
export type SendResult = PostResult & { readonly retryAfter?: string };

/** The headers that are the same in every request. */
export const CONTENT_TYPE = 'application/json';
export const USER_AGENT = 'Venue-Booking-Webhooks/1.0';

export type Post = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Sender = {
  /** POSTs once. Follows no redirects, reads at most 16 KiB of the response. Never rejects: failures are results. */
  post(post: Post): Promise<SendResult>;
  /** Closes the connections; requests in flight fail. */
  close(): Promise<void>;
};

export const isSuccess = ({ status }: SendResult): boolean => status !== undefined && status >= 200 && status < 300;
