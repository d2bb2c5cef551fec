import persistent from '@eventstore/db-client/generated/persistent_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { type handleUnaryCall, type Metadata, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { compare, type Failure, failure, persistentRecord, type Recorded, UNKNOWN_POSITION } from './messages.ts';
import type { Node } from './node.ts';
import type { ServerLog } from './server-log.ts';

type Outstanding = { readonly event: Recorded; readonly link?: Recorded; readonly retries: number };
type Sent = Outstanding & { readonly deadline: number };
type PersistentCall = ServerDuplexStream<persistent.ReadReq, persistent.ReadResp>;
type GroupConsumer = {
  readonly node: Node;
  readonly call: PersistentCall;
  readonly buffer: number;
  readonly sent: Map<string, Sent>;
};
type Group = {
  readonly name: string;
  readonly regex: RegExp;
  settings: persistent.CreateReq.Settings | persistent.UpdateReq.Settings;
  readonly startFrom: string;
  readonly first: number;
  next: number;
  /** The last event that the filter skipped while there was no consumer. A real server takes it for the checkpoint. */
  skipped: number | undefined;
  /** Whether the next event is left out, as the one that the checkpoint stands at. */
  isFirstSkipped: boolean;
  readonly retry: Outstanding[];
  readonly consumers: Set<GroupConsumer>;
};

/** What groups need from their server. */
type Host = {
  readonly isUnresponsive: () => boolean;
  /** Why the user of a call to a node may not read a group there; undefined if allowed. */
  readonly refuses: (metadata: Metadata, node: Node) => Failure | undefined;
  /** Called for an acknowledgement. @returns whether it is lost, because every connection is cut */
  readonly drops: () => boolean;
};

/** The persistent subscriptions to `$all` of the test server. */
export class ServerGroups {
  /** Requests to create a group. */
  readonly created: persistent.CreateReq.Options[] = [];
  readonly #log: ServerLog;
  readonly #host: Host;
  readonly #groups = new Map<string, Group>();

  constructor(log: ServerLog, host: Host) {
    this.#log = log;
    this.#host = host;
    log.listeners.push(() => {
      for (const group of this.#groups.values()) {
        this.#skip(group);
        this.#push(group);
      }
    });
  }

  names(): string[] {
    return [...this.#groups.keys()];
  }

  /** Calls of the consumers. */
  calls(): PersistentCall[] {
    return [...this.#groups.values()].flatMap(({ consumers }) => Array.from(consumers, ({ call }) => call));
  }

  /** Removes consumers that are connected to other nodes from their groups. */
  keepOnly(leader: Node): void {
    for (const group of this.#groups.values())
      for (const consumer of [...group.consumers]) if (consumer.node !== leader) this.#leave(group, consumer);
  }

  /** The number of parked events of a group. */
  parkedBy(name: string): number {
    const group = this.#groups.get(name);
    return group === undefined ? 0 : (this.#log.streams.get(parkedStream(group))?.length ?? 0);
  }

  readonly create: handleUnaryCall<persistent.CreateReq, persistent.CreateResp> = (call, respond) => {
    const options = call.request.getOptions();
    if (options === undefined || this.#host.isUnresponsive()) return;
    const name = options.getGroupName();
    if (this.#groups.has(name)) {
      return respond(failure(status.ALREADY_EXISTS, 'persistent-subscription-exists', name));
    }
    this.created.push(options);
    const from = options.getAll()?.getPosition();
    const found = from === undefined ? 0 : this.#log.all.findIndex((record) => compare(record, from) >= 0);
    const first = options.getAll()?.hasEnd() || found === -1 ? this.#log.all.length : found;
    this.#groups.set(name, {
      name,
      regex: new RegExp(options.getAll()?.getFilter()?.getEventType()?.getRegex() ?? ''),
      settings: options.getSettings() ?? new persistent.CreateReq.Settings(),
      startFrom: from === undefined ? 'C:0/P:0' : `C:${from.getCommitPosition()}/P:${from.getPreparePosition()}`,
      first,
      next: first,
      skipped: undefined,
      isFirstSkipped: false,
      retry: [],
      consumers: new Set(),
    });
    respond(null, new persistent.CreateResp());
  };

  /** As on a real server, an update disconnects the consumers and resets the delivery counts of events. */
  readonly update: handleUnaryCall<persistent.UpdateReq, persistent.UpdateResp> = (call, respond) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    group.settings = call.request.getOptions()?.getSettings() ?? group.settings;
    for (const { call: consumer } of [...group.consumers]) consumer.end();
    for (const [index, outstanding] of group.retry.entries()) group.retry[index] = { ...outstanding, retries: 0 };
    respond(null, new persistent.UpdateResp());
  };

  /** As on a real server, deleting the group deletes its parked events. */
  readonly delete: handleUnaryCall<persistent.DeleteReq, persistent.DeleteResp> = (call, respond) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    this.#groups.delete(name);
    this.#log.streams.delete(parkedStream(group));
    for (const { call: consumer } of [...group.consumers]) consumer.end();
    respond(null, new persistent.DeleteResp());
  };

  readonly info: handleUnaryCall<persistent.GetInfoReq, persistent.GetInfoResp> = (call, respond) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    respond(null, new persistent.GetInfoResp().setSubscriptionInfo(this.#infoOf(group)));
  };

  #infoOf(group: Group): persistent.SubscriptionInfo {
    const { settings } = group;
    const info = new persistent.SubscriptionInfo()
      .setEventSource('$all')
      .setGroupName(group.name)
      .setStatus('Live')
      .setStartFrom(group.startFrom)
      .setMessageTimeoutMilliseconds(settings.getMessageTimeoutMs())
      .setMaxRetryCount(settings.getMaxRetryCount())
      .setCheckPointAfterMilliseconds(settings.getCheckpointAfterMs())
      .setMinCheckPointCount(settings.getMinCheckpointCount())
      .setMaxCheckPointCount(settings.getMaxCheckpointCount())
      .setMaxSubscriberCount(settings.getMaxSubscriberCount())
      .setLiveBufferSize(settings.getLiveBufferSize())
      .setReadBatchSize(settings.getReadBatchSize())
      .setBufferSize(settings.getHistoryBufferSize())
      .setNamedConsumerStrategy('RoundRobin')
      .setParkedMessageCount(String(this.parkedBy(group.name)));
    const checkpoint = this.#checkpointOf(group);
    if (checkpoint !== undefined)
      info.setLastCheckpointedEventPosition(`C:${checkpoint.commit}/P:${checkpoint.prepare}`);
    return info;
  }

  /** As a real server does: without a consumer, an event that the filter skips moves the checkpoint past those that wait. */
  #skip(group: Group): void {
    if (group.consumers.size > 0) return;
    const last = this.#log.all.findLastIndex(({ type }) => !group.regex.test(type));
    if (last >= group.next) group.skipped = last;
  }

  /**
   * After a restart or an election, every group goes on at its checkpoint. As on a real server (23.10 to 25), it leaves out the first event
   * there, which is one that waits if the checkpoint is at an event that the filter skipped.
   */
  restart(): void {
    for (const group of this.#groups.values()) {
      const checkpoint = this.#checkpointOf(group);
      for (const consumer of [...group.consumers]) {
        group.consumers.delete(consumer);
        consumer.call.end();
      }
      group.retry.length = 0;
      group.next = checkpoint === undefined ? group.first : this.#log.all.indexOf(checkpoint);
      group.isFirstSkipped = checkpoint !== undefined;
      group.skipped = undefined;
    }
  }

  /** What a real server says is handled. */
  #checkpointOf(group: Group): Recorded | undefined {
    return group.skipped === undefined ? this.#lastFinished(group) : this.#log.all[group.skipped];
  }

  /** The last event before the first unfinished one of the group; undefined if there is none. */
  #lastFinished({ first, next, regex, retry, consumers }: Group): Recorded | undefined {
    const outstanding = [...retry, ...[...consumers].flatMap(({ sent }) => [...sent.values()])];
    const open = new Set(outstanding.filter(({ link }) => link === undefined).map(({ event }) => event));
    let reached: Recorded | undefined;
    for (const record of this.#log.all.slice(first, next)) {
      if (open.has(record)) break;
      if (regex.test(record.type)) reached = record;
    }
    return reached;
  }

  #leave(group: Group, consumer: GroupConsumer): void {
    if (!group.consumers.delete(consumer)) return;
    // Counted once more, but never parked for this reason.
    for (const { deadline: _, ...sent } of consumer.sent.values())
      group.retry.push({ ...sent, retries: sent.retries + 1 });
    this.#push(group);
  }

  readonly read =
    (node: Node) =>
    (call: PersistentCall): void => {
      let group: Group | undefined;
      let consumer: GroupConsumer | undefined;
      const leave = (): void => {
        if (group !== undefined && consumer !== undefined) this.#leave(group, consumer);
      };
      for (const event of ['cancelled', 'close', 'finish', 'error']) call.on(event, leave);
      call.on('end', () => {
        leave();
        call.end();
      });
      call.on('data', (request: persistent.ReadReq) => {
        if (this.#host.isUnresponsive()) return;
        const options = request.getOptions();
        if (options !== undefined) {
          const refusal = this.#host.refuses(call.metadata, node);
          if (refusal !== undefined) return void call.emit('error', refusal);
          group = this.#groups.get(options.getGroupName());
          if (group === undefined) {
            call.emit(
              'error',
              failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', options.getGroupName()),
            );
            return;
          }
          consumer = { node, call, buffer: options.getBufferSize(), sent: new Map() };
          const confirmation = new persistent.ReadResp.SubscriptionConfirmation().setSubscriptionId('s');
          call.write(new persistent.ReadResp().setSubscriptionConfirmation(confirmation));
          group.consumers.add(consumer);
          group.skipped = undefined;
        }
        if (group === undefined || consumer === undefined) return;
        const ack = request.getAck();
        if (ack !== undefined) {
          if (this.#host.drops()) return;
          for (const id of ack.getIdsList()) consumer.sent.delete(id.getString());
        }
        const nack = request.getNack();
        for (const id of nack?.getIdsList() ?? []) {
          const sent = consumer.sent.get(id.getString());
          if (sent === undefined || nack === undefined) continue;
          consumer.sent.delete(id.getString());
          if (nack.getAction() === persistent.ReadReq.Nack.Action.PARK) {
            this.#park(group, sent.event, `Client explicitly NAK'ed message.\n${nack.getReason()}`);
          } else this.#retry(group, sent);
        }
        this.#push(group);
      });
    };

  #retry(group: Group, { event, link, retries }: Outstanding): void {
    const most = group.settings.getMaxRetryCount();
    if (retries >= most) this.#park(group, event, `Reached retry count of ${most}`);
    else group.retry.push({ event, ...(link === undefined ? {} : { link }), retries: retries + 1 });
  }

  #park(group: Group, event: Recorded, reason: string): void {
    const metadata = { added: new Date().toISOString(), reason, subscriptionEventNumber: 1 };
    this.#log.store(parkedStream(group), [
      {
        id: crypto.randomUUID(),
        type: '$>',
        contentType: 'application/octet-stream',
        data: Buffer.from(`${event.revision}@${event.stream}`),
        metadata: Buffer.from(JSON.stringify(metadata)),
      },
    ]);
  }

  /** Sends events to consumers with room in their buffers, round-robin. */
  #push(group: Group): void {
    for (;;) {
      const consumer = [...group.consumers].find(({ sent, buffer }) => sent.size < buffer);
      if (consumer === undefined) return;
      const outstanding = group.retry.shift() ?? this.#nextOf(group);
      if (outstanding === undefined) return;
      group.consumers.delete(consumer);
      group.consumers.add(consumer);
      const { event, link, retries } = outstanding;
      consumer.sent.set((link ?? event).id, {
        ...outstanding,
        deadline: Date.now() + group.settings.getMessageTimeoutMs(),
      });
      const message = new persistent.ReadResp.ReadEvent().setRetryCount(retries);
      if (link === undefined) {
        message.setEvent(persistentRecord(event)).setCommitPosition(String(event.commit));
      } else {
        // A real server reads parked events through the parked stream, without positions.
        const unknown = { commit: UNKNOWN_POSITION, prepare: UNKNOWN_POSITION };
        message.setEvent(persistentRecord({ ...event, ...unknown })).setNoPosition(new shared.Empty());
        message.setLink(persistentRecord({ ...link, ...unknown }));
      }
      consumer.call.write(new persistent.ReadResp().setEvent(message));
    }
  }

  #nextOf(group: Group): Outstanding | undefined {
    for (;;) {
      const event = this.#log.all[group.next];
      if (event === undefined) return undefined;
      group.next += 1;
      if (!group.regex.test(event.type)) continue;
      if (!group.isFirstSkipped) return { event, retries: 0 };
      group.isFirstSkipped = false;
    }
  }

  /** Takes back what consumers have held for too long. */
  expire(): void {
    const now = Date.now();
    for (const group of this.#groups.values()) {
      for (const { sent } of group.consumers) {
        for (const [id, message] of sent) {
          if (message.deadline > now) continue;
          sent.delete(id);
          this.#retry(group, message);
        }
      }
      this.#push(group);
    }
  }

  readonly replayParked: handleUnaryCall<persistent.ReplayParkedReq, persistent.ReplayParkedResp> = (call, respond) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    const list = this.#log.streams.get(parkedStream(group)) ?? [];
    for (const record of list.slice(this.#log.truncatedBefore.get(parkedStream(group)) ?? 0)) {
      const resolved = this.#log.resolve(record);
      if (resolved !== undefined) group.retry.push({ ...resolved, retries: 0 });
    }
    this.#log.truncatedBefore.set(parkedStream(group), list.length);
    respond(null, new persistent.ReplayParkedResp());
    this.#push(group);
  };

  readonly list: handleUnaryCall<persistent.ListReq, persistent.ListResp> = (_call, respond) => {
    const groups = [...this.#groups.values()].map((group) => this.#infoOf(group));
    respond(null, new persistent.ListResp().setSubscriptionsList(groups));
  };
}

function parkedStream({ name }: Group): string {
  return `$persistentsubscription-$all::${name}-parked`;
}
