import { setImmediate as nextTurn } from 'node:timers/promises';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import persistentGrpc from '@eventstore/db-client/generated/persistent_grpc_pb.js';
import persistent from '@eventstore/db-client/generated/persistent_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import rpcStatus from '@eventstore/db-client/generated/status_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  type handleClientStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js';
import { type Certificate, Node } from './node.ts';
import { SERVER_VERSION } from './server-version.ts';

type Recorded = {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly commit: bigint;
  readonly prepare: bigint;
  readonly created: number;
};
type Proposed = Pick<Recorded, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>;

/** What happens to the next append. Timing out and another leader are answers of the batch append only. */
export type AppendFault =
  | 'connection lost before storing'
  | 'connection lost after storing'
  | 'server killed before storing'
  | 'server killed after storing'
  | 'neither stored nor acknowledged'
  | 'stored, not acknowledged'
  | 'refused as unavailable'
  | 'not stored, timed out'
  | 'stored, timed out'
  | 'another node is the leader'
  | 'acknowledged late';

/** What a user needs a right for. A real server has these in access control lists and groups of users. */
export type Right = 'read gossip' | 'read $all' | 'read streams' | 'read system streams' | 'append' | 'manage groups';

/** Over TLS. Whoever does not name the user may do nothing. */
export type Secured = Certificate & {
  readonly username: string;
  readonly password: string;
  /** What the user may not do. */
  readonly lacks?: readonly Right[];
};

export type ServerOptions = {
  readonly secured?: Secured;
  /** How many nodes it is: one, or a cluster of three. */
  readonly nodes?: 1 | 3;
  /** The name or address at which its nodes say, in gossip, that they can be reached. */
  readonly advertised?: string;
};

type Link = { readonly link: Recorded; readonly event: Recorded };
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
  readonly retry: Outstanding[];
  readonly consumers: Set<GroupConsumer>;
};

/** The last event of an append, or the revision at which the stream is instead, -1 if there is none. */
type Outcome = { readonly stored: Recorded } | { readonly actual: number };

type Failure = { readonly code: status; readonly details: string; readonly metadata?: Metadata };

const ACCESS_DENIED: Failure = {
  code: status.PERMISSION_DENIED,
  details: 'Access Denied',
  metadata: exception('access-denied'),
};
const UNAUTHENTICATED: Failure = { code: status.UNAUTHENTICATED, details: 'Received HTTP status code 401' };
const KILLED: Failure = { code: status.UNAVAILABLE, details: 'The server is going away' };

/** How long a password takes to be checked, at most. */
const PASSWORD_CHECK_MS = 10;

/** How the protocol represents an unknown position. */
const UNKNOWN_POSITION = 2n ** 64n - 1n;

const text = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('utf8');

/**
 * An in-memory EventStoreDB: the part of its gRPC protocol that the service uses, over real connections, with the
 * behaviours of a real server that clients trip over, and faults on demand.
 */
export class EventStoreDbServer {
  /** Faults of the next appends, in order. */
  readonly appendFaults: AppendFault[] = [];
  /** Cuts every connection when the next acknowledgement arrives, before it takes effect. */
  dropOnNextAck = false;
  /** How many events the checkpoints of filtered subscriptions lag behind. */
  checkpointLag = 0;
  /** Accepts calls but never responds, save to gossip. */
  unresponsive = false;
  /** How often nodes were asked who the leader is. */
  gossipReads = 0;
  /** The requests to create a group. */
  readonly created: persistent.CreateReq.Options[] = [];
  /** Never answers a batch append. */
  ignoresBatchAppends = false;
  /** Appends, by the call that they came with. */
  readonly appends = { batch: 0, unary: 0 };
  /** Calls of batch append, each of which may carry any number of appends. */
  batchCalls = 0;
  /** The stream of each read, `$all` for the log. */
  readonly reads: string[] = [];
  /** Streams that nobody may append to. */
  readonly readOnly = new Set<string>();
  /** The most that one append may hold, in bytes. */
  maxAppendBytes = 1_048_576;
  /** Events sent in answer to reads, and to subscriptions. */
  eventsRead = 0;
  /** Catch-up subscriptions that the server still serves. */
  readonly subscriptions = new Set<ServerWritableStream<streams.ReadReq, streams.ReadResp>>();

  readonly #log: Recorded[] = [];
  readonly #streams = new Map<string, Recorded[]>();
  readonly #truncatedBefore = new Map<string, number>();
  readonly #groups = new Map<string, Group>();
  readonly #waiting = new Set<() => void>();
  #offset = 1_000n;
  #clock: NodeJS.Timeout | undefined;

  readonly #secured: Secured | undefined;
  readonly #advertised: string;
  readonly nodes: readonly Node[];
  #leader: Node;
  /** Which node each says is the leader, once that has to be found out anew. */
  readonly #says = new Map<Node, Node>();
  /** How much of the log a node has that was the leader: it gets no more. */
  readonly #stale = new Map<Node, number>();

  private constructor({ secured, nodes = 1, advertised = '127.0.0.1' }: ServerOptions) {
    this.#secured = secured;
    this.#advertised = advertised;
    const first = this.#node();
    this.nodes = [first, ...Array.from({ length: nodes - 1 }, () => this.#node())];
    this.#leader = first;
  }

  static async start(options: ServerOptions = {}): Promise<EventStoreDbServer> {
    const server = new EventStoreDbServer(options);
    await server.#start();
    return server;
  }

  /** The streams and groups that there are, those of the server's own left out. */
  get streams(): string[] {
    return [...this.#streams.keys()].filter((name) => !name.startsWith('$'));
  }

  get groups(): string[] {
    return [...this.#groups.keys()];
  }

  /** Of a secured server without the user and the certificate. */
  get url(): string {
    const host = this.#secured === undefined ? '127.0.0.1' : 'localhost';
    const hosts = this.nodes.map(({ port }) => `${host}:${port}`).join(',');
    return `esdb://${hosts}${this.#secured === undefined ? '?tls=false' : ''}`;
  }

  get leader(): Node {
    return this.#leader;
  }

  #node(): Node {
    const grpc = new Server();
    const node = new Node(grpc);
    grpc.addService(streamsGrpc.StreamsService, {
      read: this.#read(node),
      append: this.#append(node),
      batchAppend: this.#batchAppend(node),
      delete: this.#delete,
      tombstone: this.#unimplemented,
    });
    grpc.addService(persistentGrpc.PersistentSubscriptionsService, {
      create: this.#onLeader(node, this.#createGroup),
      read: this.#readGroup(node),
      replayParked: this.#onLeader(node, this.#replayParked),
      update: this.#onLeader(node, this.#updateGroup),
      delete: this.#onLeader(node, this.#deleteGroup),
      getInfo: this.#onLeader(node, this.#groupInfo),
      list: this.#onLeader(node, this.#listGroups),
      restartSubsystem: this.#unimplemented,
    });
    grpc.addService(featuresGrpc.ServerFeaturesService, { getSupportedMethods: this.#supportedMethods });
    grpc.addService(gossipGrpc.GossipService, { read: this.#gossip(node) });
    return node;
  }

  async #start(): Promise<void> {
    this.#store('$users', [system('$UserCreated')]);
    for (const node of this.nodes) await node.start(this.#secured);
    this.#clock = setInterval(() => this.#expire(), 20);
  }

  async stop(): Promise<void> {
    clearInterval(this.#clock);
    for (const node of this.nodes) await node.stop();
  }

  /**
   * Makes another node the leader. The former one gets nothing of what is stored from then on. The consumers that are connected to other nodes lose their places in their groups.
   * @param knownTo the nodes that say so when asked; the others go on naming the former one
   */
  elect(leader: Node, knownTo: readonly Node[] = this.nodes): void {
    const former = this.#leader;
    this.#leader = leader;
    this.#stale.set(former, this.#log.length);
    this.#stale.delete(leader);
    for (const node of this.nodes) this.#says.set(node, knownTo.includes(node) ? leader : former);
    for (const group of this.#groups.values())
      for (const consumer of [...group.consumers]) if (consumer.node !== leader) this.#leave(group, consumer);
  }

  /** Appends system events, as a real server does while nothing else happens. */
  addSystemEvents(count: number): void {
    for (let n = 0; n < count; n += 1) this.#store('$stats', [system('$statsCollected')]);
  }

  /** Cuts every connection, as a broken network does. */
  dropConnections(): void {
    for (const node of this.nodes) node.dropConnections();
  }

  /** Cuts every connection and refuses new ones until `connect`. */
  async disconnect(): Promise<void> {
    for (const node of this.nodes) await node.disconnect();
  }

  async connect(): Promise<void> {
    for (const node of this.nodes) await node.connect();
  }

  /** How a node refuses what only the leader does. One that was not told so does nothing instead of passing it on. */
  #notLeader(node: Node, metadata: Metadata | undefined): Failure | undefined {
    if (node === this.#leader) return undefined;
    if (metadata !== undefined && metadata.get('requires-leader')[0] !== 'true') return undefined;
    return leaderIs(this.#advertised, (this.#says.get(node) ?? this.#leader).port);
  }

  readonly #onLeader =
    <Request, Response>(node: Node, handle: handleUnaryCall<Request, Response>): handleUnaryCall<Request, Response> =>
    (call, respond) => {
      const refusal = this.#refusal(call.metadata, 'manage groups') ?? this.#notLeader(node, undefined);
      if (refusal === undefined) handle(call, respond);
      else respond(refusal);
    };

  /** Ends every subscription of both kinds without an error, as in an orderly shutdown. */
  endSubscriptions(): void {
    for (const call of this.subscriptions) call.end();
    for (const group of this.#groups.values()) for (const { call } of group.consumers) call.end();
  }

  /** Ends every subscription with an error. */
  failSubscriptions(code: status): void {
    for (const call of this.subscriptions) call.emit('error', { code, details: 'Told to fail' });
    for (const group of this.#groups.values()) {
      for (const { call } of group.consumers) call.emit('error', { code, details: 'Told to fail' });
    }
  }

  /** How many events a group has parked. */
  parkedBy(name: string): number {
    const group = this.#groups.get(name);
    return group === undefined ? 0 : (this.#streams.get(parkedStream(group))?.length ?? 0);
  }

  /** Events of one append share the commit position, as in a log with explicit transactions. */
  #store(stream: string, events: readonly Proposed[]): Recorded {
    const list = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, list);
    const prepares = events.map(({ data, metadata }) => {
      this.#offset += BigInt(120 + data.length + metadata.length);
      return this.#offset;
    });
    this.#offset += 50n;
    const commit = this.#offset;
    for (const [index, event] of events.entries()) {
      const prepare = prepares[index] ?? commit;
      const recorded = { ...event, stream, revision: list.length, commit, prepare, created: Date.now() };
      list.push(recorded);
      this.#log.push(recorded);
    }
    // As on a real server, system events are interleaved with those of users.
    if (this.#log.length % 7 === 0) this.#store('$stats', [system('$statsCollected')]);
    const last = list.at(-1);
    if (last === undefined) throw new Error('Nothing to store');
    for (const wake of [...this.#waiting]) wake();
    for (const group of this.#groups.values()) this.#push(group);
    return last;
  }

  #append =
    (node: Node): handleClientStreamingCall<streams.AppendReq, streams.AppendResp> =>
    (call, respond) => {
      let options: streams.AppendReq.Options | undefined;
      const events: Proposed[] = [];
      call.on('error', () => {});
      call.on('data', (request: streams.AppendReq) => {
        options ??= request.getOptions();
        const message = request.getProposedMessage();
        if (message !== undefined) events.push(proposed(message));
      });
      call.on('end', async () => {
        // An aborted call ends as well, and is marked as cancelled one turn later. A real server stores none of it.
        await nextTurn();
        if (options === undefined || call.cancelled) return;
        this.appends.unary += 1;
        const stream = text(options.getStreamIdentifier()?.getStreamName() ?? '');
        const expected = options.hasRevision() ? Number(options.getRevision()) : options.hasNoStream() ? -1 : undefined;
        const refusal = this.#refusal(call.metadata, 'append', stream) ?? this.#notLeader(node, call.metadata);
        if (refusal !== undefined) return respond(refusal);
        this.#appendWithFault({
          store: () => this.#appendOnce(stream, expected, events),
          answer: (outcome) => respond(null, unaryAnswer(outcome, expected)),
          refuse: () => respond({ code: status.UNAVAILABLE, details: 'Server Is Not Ready' }),
          end: (error) => respond(error),
        });
      });
    };

  #batchAppend =
    (node: Node) =>
    (call: ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>): void => {
      this.batchCalls += 1;
      call.on('error', () => {});
      const begun = new Map<
        string,
        { readonly options: streams.BatchAppendReq.Options; readonly events: Proposed[] }
      >();
      call.on('data', (request: streams.BatchAppendReq) => {
        const id = request.getCorrelationId()?.getString() ?? '';
        const options = begun.get(id)?.options ?? request.getOptions();
        if (options === undefined) return;
        const events = [...(begun.get(id)?.events ?? []), ...request.getProposedMessagesList().map(proposed)];
        if (!request.getIsFinal()) return void begun.set(id, { options, events });
        begun.delete(id);
        this.appends.batch += 1;
        if (this.ignoresBatchAppends) return;
        const stream = text(options.getStreamIdentifier()?.getStreamName() ?? '');
        const expected = options.hasStreamPosition()
          ? Number(options.getStreamPosition())
          : options.hasNoStream()
            ? -1
            : undefined;
        const respond = (response: streams.BatchAppendResp, as = request.getCorrelationId()) =>
          void call.write(response.setCorrelationId(as).setStreamIdentifier(identifier(stream)));
        const fail = (failure: Parameters<typeof statusOf>, as?: shared.UUID) =>
          respond(new streams.BatchAppendResp().setError(statusOf(...failure)), as);
        const notLeader = this.#notLeader(node, call.metadata);
        if (notLeader !== undefined) return void call.emit('error', notLeader);
        if (this.#refusal(call.metadata, 'append', stream) !== undefined)
          return fail([status.PERMISSION_DENIED, 'Access Denied', 'event_store.client.AccessDenied']);
        const timeOut = () => fail([status.DEADLINE_EXCEEDED, 'Timeout', 'event_store.client.Timeout'], structured(id));
        // Instead of saying that it is too large.
        if (
          events.reduce((bytes, { data, metadata }) => bytes + data.length + metadata.length, 0) > this.maxAppendBytes
        )
          return timeOut();
        const append = () =>
          this.#appendWithFault({
            store: () => this.#appendOnce(stream, expected, events),
            answer: (outcome) => respond(batchAnswer(outcome, expected)),
            refuse: () => fail([status.OK, 'Server Is Not Ready', 'google.protobuf.Empty']),
            timeOut,
            end: (error) => void call.emit('error', error),
          });
        // As on a real server, passwords are checked at the same time, and some take longer than others.
        if (this.#secured === undefined) append();
        else setTimeout(append, Math.random() * PASSWORD_CHECK_MS);
      });
      call.on('end', () => call.end());
    };

  /** Stores an append and answers it, unless something else has been planned. */
  #appendWithFault(append: {
    readonly store: () => Outcome;
    readonly answer: (outcome: Outcome) => void;
    readonly refuse: () => void;
    readonly timeOut?: () => void;
    readonly end: (error: Failure) => void;
  }): void {
    const { store, answer, refuse, timeOut = () => {}, end } = append;
    const fault = this.appendFaults.shift();
    if (fault === 'connection lost before storing') this.dropConnections();
    else if (fault === 'server killed before storing') end(KILLED);
    else if (fault === 'refused as unavailable') refuse();
    else if (fault === 'not stored, timed out') timeOut();
    else if (fault === 'another node is the leader') end(leaderIs(this.#advertised, this.#leader.port));
    else if (fault !== 'neither stored nor acknowledged' && !this.unresponsive) {
      const outcome = store();
      if (fault === 'connection lost after storing') this.dropConnections();
      else if (fault === 'server killed after storing') end(KILLED);
      else if (fault === 'stored, timed out') timeOut();
      else if (fault === 'acknowledged late') setTimeout(answer, 300, outcome);
      else if (fault !== 'stored, not acknowledged') answer(outcome);
    }
  }

  /** Why the user of a call may not do it; undefined if it may. */
  #refusal(metadata: Metadata, right: Right, stream?: string): Failure | undefined {
    if (stream !== undefined && this.readOnly.has(stream)) return ACCESS_DENIED;
    if (this.#secured === undefined) return undefined;
    const { username, password, lacks = [] } = this.#secured;
    const [authorization] = metadata.get('authorization');
    if (authorization === undefined) return ACCESS_DENIED;
    if (authorization !== `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`) return UNAUTHENTICATED;
    return lacks.includes(right) ? ACCESS_DENIED : undefined;
  }

  #appendOnce(stream: string, expected: number | undefined, events: readonly Proposed[]): Outcome {
    const list = this.#streams.get(stream) ?? [];
    if (expected !== undefined && expected !== list.length - 1) {
      const written = list.slice(expected + 1, expected + 1 + events.length);
      const same = written.length === events.length && written.every(({ id }, index) => id === events[index]?.id);
      const last = written.at(-1);
      // For a duplicate append, a real server returns the position of the first event, not of the last.
      if (same && last !== undefined) return { stored: { ...last, ...position(written[0]) } };
      return { actual: list.length - 1 };
    }
    return { stored: this.#store(stream, events) };
  }

  #read =
    (node: Node) =>
    (call: ServerWritableStream<streams.ReadReq, streams.ReadResp>): void => {
      call.on('error', () => {});
      const options = call.request.getOptions();
      if (options === undefined || this.unresponsive) return;
      const stream = text(options.getStream()?.getStreamIdentifier()?.getStreamName() ?? '$all');
      const right = stream === '$all' ? 'read $all' : stream.startsWith('$') ? 'read system streams' : 'read streams';
      const refusal = this.#refusal(call.metadata, right) ?? this.#notLeader(node, call.metadata);
      if (refusal !== undefined) return void call.emit('error', refusal);
      this.reads.push(stream);
      if (options.hasSubscription()) void this.#subscribe(call, options);
      else void this.#readOnce(node, call, options);
    };

  async #readOnce(
    node: Node,
    call: ServerWritableStream<streams.ReadReq, streams.ReadResp>,
    options: streams.ReadReq.Options,
  ): Promise<void> {
    const backward = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
    const limit = Number(options.getCount());
    const streamOptions = options.getStream();
    let records: readonly Recorded[];
    if (streamOptions !== undefined) {
      const name = text(streamOptions.getStreamIdentifier()?.getStreamName() ?? '');
      const list = this.#streams.get(name);
      if (list === undefined) {
        const missing = new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier(name));
        call.write(new streams.ReadResp().setStreamNotFound(missing));
        call.end();
        return;
      }
      const from = streamOptions.hasRevision() ? Number(streamOptions.getRevision()) : undefined;
      const first = this.#truncatedBefore.get(name) ?? 0;
      records = backward ? list.slice(first, (from ?? list.length) + 1) : list.slice(Math.max(from ?? 0, first));
    } else {
      const all = options.getAll();
      const position = all?.getPosition();
      records = this.#log;
      // Forward a position is inclusive, backward it is not.
      if (position !== undefined) {
        records = records.filter((record) => compare(record, position) < 0 === backward);
      } else if (backward ? all?.hasStart() : all?.hasEnd()) records = [];
    }
    const known = this.#stale.get(node);
    if (known !== undefined) records = records.filter((record) => this.#log.indexOf(record) < known);
    if (backward) records = records.toReversed();
    for (const record of records.slice(0, limit)) {
      if (call.cancelled) return;
      this.eventsRead += 1;
      const response = new streams.ReadResp().setEvent(
        readEvent(record, options.getResolveLinks() ? this.#resolve(record) : undefined),
      );
      await send(call, response);
    }
    call.end();
  }

  async #subscribe(
    call: ServerWritableStream<streams.ReadReq, streams.ReadResp>,
    options: streams.ReadReq.Options,
  ): Promise<void> {
    this.subscriptions.add(call);
    let open = true;
    let wake = (): void => {};
    const end = (): void => {
      open = false;
      this.subscriptions.delete(call);
      wake();
    };
    for (const event of ['cancelled', 'close', 'finish', 'error']) call.on(event, end);
    const filter = options.getFilter();
    const passes = passing(filter);
    const window = (filter?.getMax() || 32) * (filter?.getCheckpointintervalmultiplier() || 1);
    const position = options.getAll()?.getPosition();
    // A subscription starts after its position.
    let next = position === undefined ? 0 : this.#log.findIndex((record) => compare(record, position) > 0);
    if (next === -1) next = this.#log.length;
    const write = async (response: streams.ReadResp): Promise<void> => {
      if (open) await send(call, response);
    };
    await write(
      new streams.ReadResp().setConfirmation(new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId('s')),
    );
    let scanned = 0;
    let caughtUp = false;
    while (open) {
      const record = this.#log[next];
      if (record !== undefined) {
        next += 1;
        scanned += 1;
        if (passes(record)) {
          this.eventsRead += 1;
          await write(new streams.ReadResp().setEvent(readEvent(record)));
        }
        if (filter !== undefined && scanned % window === 0) {
          const at = this.#log[Math.max(0, next - 1 - this.checkpointLag)] ?? record;
          const checkpoint = new streams.ReadResp.Checkpoint();
          checkpoint.setCommitPosition(String(at.commit)).setPreparePosition(String(at.prepare));
          await write(new streams.ReadResp().setCheckpoint(checkpoint));
        }
      } else if (!caughtUp) {
        caughtUp = true;
        await write(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          this.#waiting.add(resolve);
        });
        this.#waiting.delete(wake);
      }
    }
  }

  readonly #createGroup: handleUnaryCall<persistent.CreateReq, persistent.CreateResp> = (call, respond) => {
    const options = call.request.getOptions();
    if (options === undefined || this.unresponsive) return;
    const name = options.getGroupName();
    if (this.#groups.has(name)) {
      return respond(failure(status.ALREADY_EXISTS, 'persistent-subscription-exists', name));
    }
    this.created.push(options);
    const from = options.getAll()?.getPosition();
    const found = from === undefined ? 0 : this.#log.findIndex((record) => compare(record, from) >= 0);
    const first = options.getAll()?.hasEnd() || found === -1 ? this.#log.length : found;
    this.#groups.set(name, {
      name,
      regex: new RegExp(options.getAll()?.getFilter()?.getEventType()?.getRegex() ?? ''),
      settings: options.getSettings() ?? new persistent.CreateReq.Settings(),
      startFrom: from === undefined ? 'C:0/P:0' : `C:${from.getCommitPosition()}/P:${from.getPreparePosition()}`,
      first,
      next: first,
      retry: [],
      consumers: new Set(),
    });
    respond(null, new persistent.CreateResp());
  };

  /** As on a real server, an update disconnects the consumers and forgets how often events were handed out. */
  readonly #updateGroup: handleUnaryCall<persistent.UpdateReq, persistent.UpdateResp> = (call, respond) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    group.settings = call.request.getOptions()?.getSettings() ?? group.settings;
    for (const { call: consumer } of [...group.consumers]) consumer.end();
    for (const [index, outstanding] of group.retry.entries()) group.retry[index] = { ...outstanding, retries: 0 };
    respond(null, new persistent.UpdateResp());
  };

  /** As on a real server, what was parked goes with the group. */
  readonly #deleteGroup: handleUnaryCall<persistent.DeleteReq, persistent.DeleteResp> = (call, respond) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    this.#groups.delete(name);
    this.#streams.delete(parkedStream(group));
    for (const { call: consumer } of [...group.consumers]) consumer.end();
    respond(null, new persistent.DeleteResp());
  };

  readonly #groupInfo: handleUnaryCall<persistent.GetInfoReq, persistent.GetInfoResp> = (call, respond) => {
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

  /** The last event of the group before everything that is not done with; undefined until there is one. */
  #checkpointOf({ first, next, regex, retry, consumers }: Group): Recorded | undefined {
    const outstanding = [...retry, ...[...consumers].flatMap(({ sent }) => [...sent.values()])];
    const open = new Set(outstanding.filter(({ link }) => link === undefined).map(({ event }) => event));
    let reached: Recorded | undefined;
    for (const record of this.#log.slice(first, next)) {
      if (open.has(record)) break;
      if (regex.test(record.type)) reached = record;
    }
    return reached;
  }

  #leave(group: Group, consumer: GroupConsumer): void {
    if (!group.consumers.delete(consumer)) return;
    // Counted once more, but never parked for that.
    for (const { deadline: _, ...sent } of consumer.sent.values())
      group.retry.push({ ...sent, retries: sent.retries + 1 });
    this.#push(group);
  }

  #readGroup =
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
        if (this.unresponsive) return;
        const options = request.getOptions();
        if (options !== undefined) {
          const refusal = this.#refusal(call.metadata, 'read $all') ?? this.#notLeader(node, undefined);
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
        }
        if (group === undefined || consumer === undefined) return;
        const ack = request.getAck();
        if (ack !== undefined) {
          if (this.dropOnNextAck) {
            this.dropOnNextAck = false;
            return this.dropConnections();
          }
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
    this.#store(parkedStream(group), [
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
      const event = this.#log[group.next];
      if (event === undefined) return undefined;
      group.next += 1;
      if (group.regex.test(event.type)) return { event, retries: 0 };
    }
  }

  #expire(): void {
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

  readonly #replayParked: handleUnaryCall<persistent.ReplayParkedReq, persistent.ReplayParkedResp> = (
    call,
    respond,
  ) => {
    const name = call.request.getOptions()?.getGroupName() ?? '';
    const group = this.#groups.get(name);
    if (group === undefined) return respond(failure(status.NOT_FOUND, 'persistent-subscription-does-not-exist', name));
    const list = this.#streams.get(parkedStream(group)) ?? [];
    for (const record of list.slice(this.#truncatedBefore.get(parkedStream(group)) ?? 0)) {
      const resolved = this.#resolve(record);
      if (resolved !== undefined) group.retry.push({ ...resolved, retries: 0 });
    }
    this.#truncatedBefore.set(parkedStream(group), list.length);
    respond(null, new persistent.ReplayParkedResp());
    this.#push(group);
  };

  #resolve(link: Recorded): Link | undefined {
    if (link.type !== '$>') return undefined;
    const [, revision, stream] = /^(\d+)@(.*)$/s.exec(text(link.data)) ?? [];
    const event = this.#streams.get(stream ?? '')?.[Number(revision)];
    return event === undefined ? undefined : { link, event };
  }

  readonly #supportedMethods: handleUnaryCall<shared.Empty, features.SupportedMethods> = (_call, respond) => {
    if (this.unresponsive) return;
    const methods = new features.SupportedMethods().setEventStoreServerVersion(SERVER_VERSION);
    for (const [service, names] of [
      ['event_store.client.streams.streams', ['read', 'append', 'batchappend']],
      [
        'event_store.client.persistent_subscriptions.persistentsubscriptions',
        ['create', 'update', 'delete', 'getinfo', 'list', 'read', 'replayparked'],
      ],
    ] as const) {
      for (const name of names) {
        methods.addMethods(
          new features.SupportedMethod().setServiceName(service).setMethodName(name).setFeaturesList(['all', 'stream']),
        );
      }
    }
    respond(null, methods);
  };

  #gossip =
    (node: Node): handleUnaryCall<shared.Empty, gossip.ClusterInfo> =>
    (call, respond) => {
      this.gossipReads += 1;
      // Nobody has to say who they are. Who does is looked up.
      const isNamed = call.metadata.get('authorization').length > 0;
      const refusal = isNamed ? this.#refusal(call.metadata, 'read gossip') : undefined;
      if (refusal !== undefined) return respond(refusal);
      const leader = this.#says.get(node) ?? this.#leader;
      const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState;
      const members = this.nodes.map((member) =>
        new gossip.MemberInfo()
          .setInstanceId(new shared.UUID().setString(crypto.randomUUID()))
          .setState(member === leader ? LEADER : FOLLOWER)
          .setIsAlive(true)
          .setHttpEndPoint(new gossip.EndPoint().setAddress(this.#advertised).setPort(member.port)),
      );
      respond(null, new gossip.ClusterInfo().setMembersList(members));
    };

  /** As on a real server, the events stay in the log until it is scavenged, which this one never does. */
  readonly #delete: handleUnaryCall<streams.DeleteReq, streams.DeleteResp> = (call, respond) => {
    const stream = text(call.request.getOptions()?.getStreamIdentifier()?.getStreamName() ?? '');
    this.#streams.delete(stream);
    respond(null, new streams.DeleteResp().setNoPosition(new shared.Empty()));
  };

  readonly #listGroups: handleUnaryCall<persistent.ListReq, persistent.ListResp> = (_call, respond) => {
    const groups = [...this.#groups.values()].map((group) => this.#infoOf(group));
    respond(null, new persistent.ListResp().setSubscriptionsList(groups));
  };

  readonly #unimplemented: handleUnaryCall<unknown, unknown> = (_call, respond) =>
    respond({ code: status.UNIMPLEMENTED, details: 'Not part of this test server' });
}

/** Resolves when the client can take more, or has disconnected. */
async function send(
  call: ServerWritableStream<streams.ReadReq, streams.ReadResp>,
  response: streams.ReadResp,
): Promise<void> {
  if (call.write(response)) return;
  await new Promise<void>((resolve) => {
    const go = (): void => {
      for (const event of ['drain', 'close', 'cancelled']) call.off(event, go);
      resolve();
    };
    for (const event of ['drain', 'close', 'cancelled']) call.on(event, go);
  });
}

/** By the type of an event or the name of its stream: a regular expression, or prefixes. */
function passing(filter: streams.ReadReq.Options.FilterOptions | undefined): (record: Recorded) => boolean {
  const [types, names] = [filter?.getEventType(), filter?.getStreamIdentifier()];
  const prefixes = (types ?? names)?.getPrefixList() ?? [];
  const regex = new RegExp((types ?? names)?.getRegex() ?? '');
  return (record) => {
    const subject = types === undefined ? record.stream : record.type;
    return prefixes.length > 0 ? prefixes.some((prefix) => subject.startsWith(prefix)) : regex.test(subject);
  };
}

function system(type: string): Proposed {
  const data = Buffer.from('{}');
  return { id: crypto.randomUUID(), type, contentType: 'application/json', data, metadata: new Uint8Array() };
}

function position(record: Recorded | undefined): Pick<Recorded, 'commit' | 'prepare'> {
  return { commit: record?.commit ?? UNKNOWN_POSITION, prepare: record?.prepare ?? UNKNOWN_POSITION };
}

function parkedStream({ name }: Group): string {
  return `$persistentsubscription-$all::${name}-parked`;
}

function identifier(stream: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}

/** Negative if the record is before the position. */
function compare(record: Recorded, position: streams.ReadReq.Options.Position): number {
  const [commit, prepare] = [BigInt(position.getCommitPosition()), BigInt(position.getPreparePosition())];
  if (record.commit !== commit) return record.commit < commit ? -1 : 1;
  return record.prepare < prepare ? -1 : record.prepare > prepare ? 1 : 0;
}

function proposed(message: streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage): Proposed {
  return {
    id: message.getId()?.getString() ?? '',
    type: message.getMetadataMap().get('type') ?? '',
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

function unaryAnswer(outcome: Outcome, expected: number | undefined): streams.AppendResp {
  if ('stored' in outcome) {
    const { revision, commit, prepare } = outcome.stored;
    const position = new streams.AppendResp.Position()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare));
    return new streams.AppendResp().setSuccess(
      new streams.AppendResp.Success().setCurrentRevision(String(revision)).setPosition(position),
    );
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (outcome.actual >= 0) wrong.setCurrentRevision(String(outcome.actual));
  else wrong.setCurrentNoStream(new shared.Empty());
  if (expected === -1) wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedRevision(String(expected));
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
}

function batchAnswer(outcome: Outcome, expected: number | undefined): streams.BatchAppendResp {
  if ('stored' in outcome) {
    const { revision, commit, prepare } = outcome.stored;
    const position = new shared.AllStreamPosition()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare));
    return new streams.BatchAppendResp().setSuccess(
      new streams.BatchAppendResp.Success().setCurrentRevision(String(revision)).setPosition(position),
    );
  }
  const wrong = new shared.WrongExpectedVersion();
  if (outcome.actual >= 0) wrong.setCurrentStreamRevision(String(outcome.actual));
  else wrong.setCurrentNoStream(new shared.Empty());
  if (expected === -1) wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedStreamPosition(String(expected));
  return new streams.BatchAppendResp().setError(
    statusOf(
      status.ALREADY_EXISTS,
      'WrongExpectedVersion',
      'event_store.client.WrongExpectedVersion',
      wrong.serializeBinary(),
    ),
  );
}

/** A `google.rpc.Status`, put together by hand, because its details are of a class that the client does not pass on. */
function statusOf(
  code: status,
  message: string,
  type: string,
  details: Uint8Array = new Uint8Array(),
): ReturnType<typeof rpcStatus.Status.deserializeBinary> {
  const field = (number: number, bytes: Uint8Array) => Buffer.from([(number << 3) | 2, bytes.length, ...bytes]);
  const any = Buffer.concat([field(1, Buffer.from(`type.googleapis.com/${type}`)), field(2, details)]);
  return rpcStatus.Status.deserializeBinary(
    Buffer.concat([Buffer.from([8, code]), field(2, Buffer.from(message)), field(3, any)]),
  );
}

/** A UUID as a real server sends it that timed out: two signed integers. Otherwise, it sends what it got. */
function structured(id: string): shared.UUID {
  const digits = id.replaceAll('-', '');
  const [high = 0n, low = 0n] = [digits.slice(0, 16), digits.slice(16)].map((half) =>
    BigInt.asIntN(64, BigInt(`0x${half}`)),
  );
  const uuid = new shared.UUID.Structured().setMostSignificantBits(String(high)).setLeastSignificantBits(String(low));
  return new shared.UUID().setStructured(uuid);
}

function exception(name: string): Metadata {
  const metadata = new Metadata();
  metadata.set('exception', name);
  return metadata;
}

function leaderIs(host: string, port: number): Failure {
  const metadata = exception('not-leader');
  metadata.set('leader-endpoint-host', host);
  metadata.set('leader-endpoint-port', String(port));
  return { code: status.NOT_FOUND, details: 'Leader info available', metadata };
}

function fill<Message extends streams.ReadResp.ReadEvent.RecordedEvent | persistent.ReadResp.ReadEvent.RecordedEvent>(
  message: Message,
  record: Recorded,
): Message {
  message.setId(new shared.UUID().setString(record.id));
  message.setStreamIdentifier(identifier(record.stream));
  message.setStreamRevision(String(record.revision));
  message.setCommitPosition(String(record.commit));
  message.setPreparePosition(String(record.prepare));
  message.setData(record.data);
  message.setCustomMetadata(record.metadata);
  message.getMetadataMap().set('type', record.type);
  message.getMetadataMap().set('content-type', record.contentType);
  message.getMetadataMap().set('created', String(BigInt(record.created) * 10_000n));
  return message;
}

function readEvent(record: Recorded, resolved?: Link): streams.ReadResp.ReadEvent {
  const message = new streams.ReadResp.ReadEvent().setCommitPosition(String(record.commit));
  message.setEvent(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), resolved?.event ?? record));
  if (resolved !== undefined) message.setLink(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), resolved.link));
  return message;
}

function persistentRecord(record: Recorded): persistent.ReadResp.ReadEvent.RecordedEvent {
  return fill(new persistent.ReadResp.ReadEvent.RecordedEvent(), record);
}

function failure(code: status, name: string, group: string): { code: status; details: string; metadata: Metadata } {
  const metadata = exception(name);
  metadata.set('stream-name', '$all');
  metadata.set('group-name', group);
  return { code, details: name, metadata };
}
