import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import persistentGrpc from '@eventstore/db-client/generated/persistent_grpc_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  type handleClientStreamingCall,
  type handleUnaryCall,
  type Metadata,
  Server,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js';
import {
  batchAnswer,
  compare,
  exception,
  type Failure,
  identifier,
  leaderIs,
  type Outcome,
  type Proposed,
  proposed,
  type Recorded,
  readEvent,
  statusOf,
  structured,
  text,
  unaryAnswer,
} from './messages.ts';
import { type Certificate, Node } from './node.ts';
import { ServerGroups } from './server-groups.ts';
import { ServerLog, system } from './server-log.ts';
import { SERVER_VERSION } from './server-version.ts';

/** What happens to the next append. Time-outs and leader changes are answers to batch appends only. */
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

/** Operations that require a right. A real server keeps rights in access control lists and user groups. */
export type Right = 'read gossip' | 'read $all' | 'read streams' | 'append' | 'manage groups';

/** Uses TLS. Calls without the user’s credentials are not allowed to do anything. */
export type Secured = Certificate & {
  readonly username: string;
  readonly password: string;
  /** The operations denied to the user. */
  readonly lacks?: readonly Right[];
};

export type ServerOptions = {
  readonly secured?: Secured;
  /** The number of nodes: one, or a cluster of three. */
  readonly nodes?: 1 | 3;
  /** The name or address that its nodes advertise in gossip. */
  readonly advertised?: string;
};

const ACCESS_DENIED: Failure = {
  code: status.PERMISSION_DENIED,
  details: 'Access Denied',
  metadata: exception('access-denied'),
};
const UNAUTHENTICATED: Failure = { code: status.UNAUTHENTICATED, details: 'Received HTTP status code 401' };
const KILLED: Failure = { code: status.UNAVAILABLE, details: 'The server is shutting down' };

/** The longest time that checking a password takes. */
const PASSWORD_CHECK_MS = 10;

/**
 * An in-memory EventStoreDB: the part of its gRPC protocol that the service uses, over real connections, with the
 * behaviours of a real server that cause problems for clients, and faults on demand.
 */
export class EventStoreDbServer {
  /** Faults of the next appends, in order. */
  readonly appendFaults: AppendFault[] = [];
  /** Milliseconds by which `acknowledged late` is late. */
  lateMs = 300;
  /** Cuts every connection when the next acknowledgement arrives, before applying it. */
  dropOnNextAck = false;
  /** How many events the checkpoints of filtered subscriptions lag behind. */
  checkpointLag = 0;
  /** How long a subscription takes to start: until then the server only confirms it. */
  subscriptionDelayMs = 0;
  /** Accepts calls but never responds, except to gossip. */
  unresponsive = false;
  /** How often a client asked a node for the leader. */
  gossipReads = 0;
  /** Never answers a batch append. */
  ignoresBatchAppends = false;
  /** Appends, by the type of call that carried them. */
  readonly appends = { batch: 0, unary: 0 };
  /** Calls of batch append, each of which may carry any number of appends. */
  batchCalls = 0;
  /** The stream of each read, `$all` for the log. */
  readonly reads: string[] = [];
  /** Streams that reject every append. */
  readonly readOnly = new Set<string>();
  /** The size limit of an append, in bytes. */
  maxAppendBytes = 1_048_576;
  /** Events sent in answer to reads, and to subscriptions. */
  eventsRead = 0;
  /** Catch-up subscriptions that the server still serves. */
  readonly subscriptions = new Set<ServerWritableStream<streams.ReadReq, streams.ReadResp>>();

  readonly #log = new ServerLog();
  readonly #groups = new ServerGroups(this.#log, {
    isUnresponsive: () => this.unresponsive,
    refuses: (metadata, node) => this.#refusal(metadata, 'read $all') ?? this.#notLeader(node, undefined),
    drops: () => {
      const drops = this.dropOnNextAck;
      this.dropOnNextAck = false;
      if (drops) this.dropConnections();
      return drops;
    },
  });
  readonly #waiting = new Set<() => void>();
  #clock: NodeJS.Timeout | undefined;

  readonly #secured: Secured | undefined;
  readonly #advertised: string;
  readonly nodes: readonly Node[];
  #leader: Node;
  /** The node that each names as the leader, after a change. */
  readonly #says = new Map<Node, Node>();
  /** How much of the log a former leader has: it receives no more. */
  readonly #stale = new Map<Node, number>();

  private constructor({ secured, nodes = 1, advertised = '127.0.0.1' }: ServerOptions) {
    this.#secured = secured;
    this.#advertised = advertised;
    const first = this.#node();
    this.nodes = [first, ...Array.from({ length: nodes - 1 }, () => this.#node())];
    this.#leader = first;
    this.#log.listeners.push(() => {
      for (const wake of [...this.#waiting]) wake();
    });
  }

  static async start(options: ServerOptions = {}): Promise<EventStoreDbServer> {
    const server = new EventStoreDbServer(options);
    await server.#start();
    return server;
  }

  /** The existing streams and groups, without the server’s own. */
  get streams(): string[] {
    return [...this.#log.streams.keys()].filter((name) => !name.startsWith('$'));
  }

  get groups(): string[] {
    return this.#groups.names();
  }

  /** Requests to create a group. */
  get created() {
    return this.#groups.created;
  }

  /** To a secured server without credentials and the certificate. */
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
      create: this.#onLeader(node, this.#groups.create),
      read: this.#groups.read(node),
      replayParked: this.#onLeader(node, this.#groups.replayParked),
      update: this.#onLeader(node, this.#groups.update),
      delete: this.#onLeader(node, this.#groups.delete),
      getInfo: this.#onLeader(node, this.#groups.info),
      list: this.#onLeader(node, this.#groups.list),
      restartSubsystem: this.#unimplemented,
    });
    grpc.addService(featuresGrpc.ServerFeaturesService, { getSupportedMethods: this.#supportedMethods });
    grpc.addService(gossipGrpc.GossipService, { read: this.#gossip(node) });
    return node;
  }

  async #start(): Promise<void> {
    this.#log.store('$users', [system('$UserCreated')]);
    for (const node of this.nodes) await node.start(this.#secured);
    this.#clock = setInterval(() => this.#groups.expire(), 20);
  }

  async stop(): Promise<void> {
    clearInterval(this.#clock);
    for (const node of this.nodes) await node.stop();
  }

  /**
   * Makes another node the leader. The former one receives no later events. Consumers that are connected to other nodes leave their groups.
   * @param knownTo the nodes that name the new leader when asked; the others still name the former one
   */
  elect(leader: Node, knownTo: readonly Node[] = this.nodes): void {
    const former = this.#leader;
    this.#leader = leader;
    this.#stale.set(former, this.#log.all.length);
    this.#stale.delete(leader);
    for (const node of this.nodes) this.#says.set(node, knownTo.includes(node) ? leader : former);
    this.#groups.keepOnly(leader);
    this.#groups.restart();
  }

  /** Appends system events, as a real server does while nothing else happens. */
  addSystemEvents(count: number): void {
    for (let n = 0; n < count; n += 1) this.#log.store('$stats', [system('$statsCollected')]);
  }

  /** Cuts every connection and goes on as after a restart: with what is stored of the groups. */
  restart(): void {
    this.#groups.restart();
    this.dropConnections();
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

  /** How a node refuses a call for the leader; undefined if it leads, or if the metadata do not require a leader. */
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
    for (const call of [...this.subscriptions, ...this.#groups.calls()]) call.end();
  }

  /** Ends every subscription with an error. */
  failSubscriptions(code: status): void {
    for (const call of [...this.subscriptions, ...this.#groups.calls()])
      call.emit('error', { code, details: 'Told to fail' });
  }

  /** The number of parked events of a group. */
  parkedBy(name: string): number {
    return this.#groups.parkedBy(name);
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
        // An aborted call ends as well, and is marked as cancelled one turn later. A real server stores none of its data.
        await nextTurn();
        if (options === undefined || call.cancelled) return;
        this.appends.unary += 1;
        const stream = text(options.getStreamIdentifier()?.getStreamName() ?? '');
        const expected = options.hasRevision() ? Number(options.getRevision()) : options.hasNoStream() ? -1 : undefined;
        const refusal = this.#refusal(call.metadata, 'append', stream) ?? this.#notLeader(node, call.metadata);
        if (refusal !== undefined) return respond(refusal);
        this.#appendWithFault({
          store: () => this.#log.append(stream, expected, events),
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
        // A real server does this instead of reporting the size.
        if (
          events.reduce((bytes, { data, metadata }) => bytes + data.length + metadata.length, 0) > this.maxAppendBytes
        )
          return timeOut();
        const append = () =>
          this.#appendWithFault({
            store: () => this.#log.append(stream, expected, events),
            answer: (outcome) => respond(batchAnswer(outcome, expected)),
            refuse: () => fail([status.OK, 'Server Is Not Ready', 'google.protobuf.Empty']),
            timeOut,
            end: (error) => void call.emit('error', error),
          });
        // As on a real server, passwords are checked concurrently, and some checks take longer than others.
        if (this.#secured === undefined) append();
        else setTimeout(append, Math.random() * PASSWORD_CHECK_MS);
      });
      call.on('end', () => call.end());
    };

  /** Stores an append and answers it, unless a fault is planned. */
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
      else if (fault === 'acknowledged late') setTimeout(answer, this.lateMs, outcome);
      else if (fault !== 'stored, not acknowledged') answer(outcome);
    }
  }

  /** Why the user of a call is not allowed to make it; undefined if allowed. */
  #refusal(metadata: Metadata, right: Right, stream?: string): Failure | undefined {
    if (stream !== undefined && this.readOnly.has(stream)) return ACCESS_DENIED;
    if (this.#secured === undefined) return undefined;
    const { username, password, lacks = [] } = this.#secured;
    const [authorization] = metadata.get('authorization');
    if (authorization === undefined) return ACCESS_DENIED;
    if (authorization !== `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`) return UNAUTHENTICATED;
    return lacks.includes(right) ? ACCESS_DENIED : undefined;
  }

  #read =
    (node: Node) =>
    (call: ServerWritableStream<streams.ReadReq, streams.ReadResp>): void => {
      call.on('error', () => {});
      const options = call.request.getOptions();
      if (options === undefined || this.unresponsive) return;
      const stream = text(options.getStream()?.getStreamIdentifier()?.getStreamName() ?? '$all');
      const right = stream === '$all' ? 'read $all' : 'read streams';
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
      const list = this.#log.streams.get(name);
      if (list === undefined) {
        const missing = new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier(name));
        call.write(new streams.ReadResp().setStreamNotFound(missing));
        call.end();
        return;
      }
      const from = streamOptions.hasRevision() ? Number(streamOptions.getRevision()) : undefined;
      const first = this.#log.truncatedBefore.get(name) ?? 0;
      records = backward ? list.slice(first, (from ?? list.length) + 1) : list.slice(Math.max(from ?? 0, first));
    } else {
      const all = options.getAll();
      const position = all?.getPosition();
      records = this.#log.all;
      // Forward a position is inclusive, backward it is not.
      if (position !== undefined) {
        records = records.filter((record) => compare(record, position) < 0 === backward);
      } else if (backward ? all?.hasStart() : all?.hasEnd()) records = [];
    }
    const known = this.#stale.get(node);
    if (known !== undefined) records = records.filter((record) => this.#log.all.indexOf(record) < known);
    if (backward) records = records.toReversed();
    for (const record of records.slice(0, limit)) {
      if (call.cancelled) return;
      this.eventsRead += 1;
      const response = new streams.ReadResp().setEvent(
        readEvent(record, options.getResolveLinks() ? this.#log.resolve(record) : undefined),
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
    let next = position === undefined ? 0 : this.#log.all.findIndex((record) => compare(record, position) > 0);
    if (next === -1) next = this.#log.all.length;
    const write = async (response: streams.ReadResp): Promise<void> => {
      if (open) await send(call, response);
    };
    await write(
      new streams.ReadResp().setConfirmation(new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId('s')),
    );
    await sleep(this.subscriptionDelayMs);
    let scanned = 0;
    let caughtUp = false;
    while (open) {
      const record = this.#log.all[next];
      if (record !== undefined) {
        next += 1;
        scanned += 1;
        if (passes(record)) {
          this.eventsRead += 1;
          await write(new streams.ReadResp().setEvent(readEvent(record)));
        }
        if (filter !== undefined && scanned % window === 0) {
          const at = this.#log.all[Math.max(0, next - 1 - this.checkpointLag)] ?? record;
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
      // Calls without credentials are allowed. Credentials are checked.
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
    this.#log.streams.delete(stream);
    respond(null, new streams.DeleteResp().setNoPosition(new shared.Empty()));
  };

  readonly #unimplemented: handleUnaryCall<unknown, unknown> = (_call, respond) =>
    respond({ code: status.UNIMPLEMENTED, details: 'Not part of this test server' });
}

/** Resolves when the client can receive more, or has disconnected. */
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

/** By the type or the stream name of an event: a regular expression, or prefixes. */
function passing(filter: streams.ReadReq.Options.FilterOptions | undefined): (record: Recorded) => boolean {
  const [types, names] = [filter?.getEventType(), filter?.getStreamIdentifier()];
  const prefixes = (types ?? names)?.getPrefixList() ?? [];
  const regex = new RegExp((types ?? names)?.getRegex() ?? '');
  return (record) => {
    const subject = types === undefined ? record.stream : record.type;
    return prefixes.length > 0 ? prefixes.some((prefix) => subject.startsWith(prefix)) : regex.test(subject);
  };
}
