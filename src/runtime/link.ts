/** Messages about one subject between two threads. Each is only a hint and may be lost; the stores are authoritative. */
type Topic<T> = {
  send(item: T): void;
  close(): void;
};

/** Sends change hints to the thread at the other end of a port, in order. */
export type Link = {
  /** Opens a subject. `receive` gets the other end's messages. */
  open<T>(subject: string, receive: (item: T) => void): Topic<T>;
};

/** A worker, the port to its parent, or one end of a channel. */
export type Port = {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

/** The limit of unconfirmed messages. Further ones are dropped, so that a blocked thread does not fill the memory. */
const MAX_UNCONFIRMED = 1_024;
/** The receiver confirms that many messages at a time: each confirmation wakes the sender. */
const CONFIRM_EVERY = 256;

type Sent = { readonly subject: string; readonly item: unknown };
type Message = { readonly sent: readonly Sent[] } | { readonly confirmed: number };

/** A method, so that a listener for one type of item fits. */
type Listener = { receive(item: unknown): void };

/** A link whose port is set later, and again when the other thread restarts. */
export type Linked = Link & { connect(port: Port): void };

export function createLink(): Linked {
  const listeners = new Map<string, Set<Listener>>();
  let post: (message: Message) => void = () => {};
  let unconfirmed = 0;
  let waiting: Sent[] = [];

  function flush(): void {
    const sent = waiting;
    waiting = [];
    if (unconfirmed >= MAX_UNCONFIRMED) return;
    unconfirmed += 1;
    post({ sent });
  }

  return {
    connect(port) {
      let received = 0;
      unconfirmed = 0;
      post = (message) => port.postMessage(message);
      port.on('message', (message) => {
        if (!isMessage(message)) return;
        if ('confirmed' in message) {
          unconfirmed -= message.confirmed;
          return;
        }
        received += 1;
        if (received % CONFIRM_EVERY === 0) port.postMessage({ confirmed: CONFIRM_EVERY });
        for (const { subject, item } of message.sent)
          for (const listener of listeners.get(subject) ?? []) listener.receive(item);
      });
    },

    open<T>(subject: string, receive: (item: T) => void): Topic<T> {
      const listener: Listener = { receive };
      const ofSubject = listeners.get(subject) ?? new Set();
      listeners.set(subject, ofSubject.add(listener));
      return {
        send(item) {
          waiting.push({ subject, item });
          // Messages of one tick, such as documents and their checkpoint, wake the other thread once.
          if (waiting.length === 1) process.nextTick(flush);
        },
        close: () => void ofSubject.delete(listener),
      };
    },
  };
}

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && ('sent' in message || 'confirmed' in message);
