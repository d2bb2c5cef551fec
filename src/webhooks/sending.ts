/** Why there was no answer. `Connection`: it broke, or no route; `Protocol`: what came was not HTTP. */
export type SendErrorType = 'Timeout' | 'Dns' | 'Refused' | 'Tls' | 'Forbidden' | 'Connection' | 'Protocol';

/** What came of one POST. Either `status` or `error` is there. */
export type SendResult = {
  readonly status?: number;
  readonly error?: { readonly type: SendErrorType; readonly message: string };
  /** IP address of the receiver, as far as it got. */
  readonly address?: string;
  /** Milliseconds. */
  readonly duration: number;
  /** The first KiB of the answer. */
  readonly answer: string;
  readonly retryAfter?: string;
};

export type Post = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Sender = {
  /** POSTs once. Follows no redirect, reads at most 16 KiB of the answer. Never throws: failures are results. */
  post(post: Post): Promise<SendResult>;
  /** Closes the connections; posts under way fail. */
  close(): Promise<void>;
};

export const isSuccess = ({ status }: SendResult): boolean => status !== undefined && status >= 200 && status < 300;
