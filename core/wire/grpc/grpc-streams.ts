/**
 * Calls for the byte streams of a session. Small streams use the session's connection. Large streams use a second connection, because a large stream would
 * delay everything else on the same TCP connection. The parent's answer gives each session a random name. A call for a stream contains this name and the
 * number of the stream. So a child's call can't reach another one of its sessions, and nobody else's call can reach any session of the child.
 */

import type { Socket } from 'node:net';
import { type Client, type ClientDuplexStream, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { FrameLink } from '../frame-link.ts';
import type { Link, LinkEvents } from '../link.ts';
import { errorOfCall, isRefusal } from './call-status.ts';
import { asBytes, isOfGrpc, streamMethod } from './session-method.ts';
import type { TlsChannel } from './tls-channel.ts';

/** Names of ASCII metadata. */
export const linkKey = 'banyan-link';
const streamKey = 'banyan-stream';

/** A second connection without streams is closed after this time. It stays open for a while, because one large stream often follows another. */
const idleMs = 60_000;
/** Behind a balancer, a second connection may lead to another node or to none. Then large streams use the session's connection for this time. */
const sessionConnectionMs = 60_000;
/** Time for a connection through proxies, its handshake and one answer. */
const provenWithinMs = 5_000;

type Call = ClientDuplexStream<Buffer, Buffer>;

export interface StreamAddress {
  readonly link: string;
  readonly id: number;
}

/** The session and the stream that a call names. Throws Protocol if the metadata do not name both. */
export function streamAddressOf(metadata: Metadata): StreamAddress {
  const [link] = metadata.get(linkKey);
  const [id] = metadata.get(streamKey);
  if (
    typeof link !== 'string' ||
    typeof id !== 'string' ||
    !/^[1-9]\d{0,15}$/.test(id) ||
    !Number.isSafeInteger(Number(id))
  ) {
    throw new BanyanError(
      'Protocol',
      `a call for a stream names its session in ${linkKey} and the stream in ${streamKey}`,
    );
  }
  return { link, id: Number(id) };
}

export interface StreamDialerOptions {
  readonly address: string;
  readonly clock: Clock;
  /** The session's name, received from the parent. */
  readonly link: string;
  readonly peer: PeerIdentity;
  /** The client of the session's connection. */
  readonly client: Client;
  /** Makes a client for another connection to the same parent. */
  newClient(): { readonly client: Client; readonly channel: TlsChannel };
}

/** The calls for streams of one session, at the child. */
export class StreamDialer {
  readonly #options: StreamDialerOptions;
  readonly #calls = new Set<() => void>();
  #second: SecondConnection | undefined;
  #sessionConnectionUntilMs = 0;
  #closed = false;

  constructor(options: StreamDialerOptions) {
    this.#options = options;
  }

  async open(id: number, apart: boolean, events: LinkEvents): Promise<Link> {
    const { client, clock } = this.#options;
    if (this.#closed) throw over();
    if (!apart || clock.monotonicMs() < this.#sessionConnectionUntilMs)
      return this.#linkOf(this.#call(client, id), events);
    const second = this.#secondConnection();
    const { call, answer } = await this.#askSecond(second, id);
    if (this.#closed) throw over();
    if (answer === 'taken') return this.#linkOf(call, events, () => second.end());
    second.end();
    if (answer === 'nothing') this.#useSessionConnection(second);
    const sessionCall = this.#call(client, id);
    // Either the node of this session refused the stream, and will refuse it again on the session's connection. Or the second connection leads to another
    // node, which refused. Then the session's node accepts the stream on the session's connection.
    if (answer === 'refused') sessionCall.once('metadata', () => this.#useSessionConnection(second));
    return this.#linkOf(sessionCall, events);
  }

  /** Ends all streams, because the session is over. */
  close(): void {
    this.#closed = true;
    for (const cancel of [...this.#calls]) cancel();
    this.#second?.close();
  }

  #secondConnection(): SecondConnection {
    // The next second connection must be proven again: behind a balancer, it may lead to another node.
    if (this.#second?.isBroken) this.#second.close();
    const { clock, newClient } = this.#options;
    const connection =
      this.#second ??
      new SecondConnection(newClient(), clock, () => {
        if (this.#second === connection) this.#second = undefined;
      });
    this.#second = connection;
    return connection;
  }

  /** Opens a call on the second connection. Waits for the parent's answer, unless a call on this connection was accepted before. */
  async #askSecond(connection: SecondConnection, id: number): Promise<{ call: Call; answer: Answer }> {
    connection.begin();
    const call = this.#call(connection.client, id);
    const answer = connection.isProven ? 'taken' : await answerTo(call, this.#options.clock);
    if (answer === 'taken') connection.prove();
    else call.cancel();
    return { call, answer };
  }

  /**
   * Does nothing if the second connection is proven. Otherwise the second connection does not lead to the session's node: closes it, and uses the session's
   * connection for some time.
   */
  #useSessionConnection(connection: SecondConnection): void {
    if (connection.isProven) return;
    connection.close();
    this.#sessionConnectionUntilMs = this.#options.clock.monotonicMs() + sessionConnectionMs;
  }

  #call(client: Client, id: number): Call {
    const metadata = new Metadata();
    metadata.set(linkKey, this.#options.link);
    metadata.set(streamKey, String(id));
    const call: Call = client.makeBidiStreamRequest(streamMethod, asBytes, asBytes, metadata);
    // This listener is never removed, because an aborted call emits an error too.
    call.on('error', () => {});
    return call;
  }

  #linkOf(call: Call, events: LinkEvents, over: () => void = () => {}): Link {
    const { address, clock, peer } = this.#options;
    const cancel = () => call.cancel();
    const link = new FrameLink({
      peer,
      transport: 'grpc',
      clock,
      call: {
        write: (bytes, taken) => call.write(bytes, taken),
        end: () => call.end(),
        abort: cancel,
        bytesRead: () => 0,
      },
    });
    this.#calls.add(cancel);
    const done = () => {
      if (this.#calls.delete(cancel)) over();
    };
    call.on('error', (error) => {
      link.failed(errorOfCall(address, error as ServiceError));
      done();
    });
    call.on('end', () => {
      link.ended();
      done();
    });
    setImmediate(() => {
      link.start(events);
      call.on('data', (bytes: Buffer) => link.received(bytes));
    });
    return link;
  }
}

/** A second connection, for large streams. Each large stream is one call on it. */
class SecondConnection {
  readonly client: Client;
  readonly #channel: TlsChannel;
  readonly #clock: Clock;
  readonly #forget: () => void;
  #calls = 0;
  #timer: Timer | undefined;
  #carrier: Socket | undefined;

  constructor({ client, channel }: { client: Client; channel: TlsChannel }, clock: Clock, forget: () => void) {
    this.#clock = clock;
    this.#channel = channel;
    this.#forget = forget;
    this.client = client;
  }

  /** True after a call on this connection was accepted. */
  get isProven(): boolean {
    return this.#carrier !== undefined;
  }

  /** True if the connection was proven and is now broken. Its channel makes no new connection. */
  get isBroken(): boolean {
    return this.#carrier?.destroyed === true;
  }

  prove(): void {
    this.#carrier ??= this.#channel.settle().socket;
  }

  begin(): void {
    this.#calls++;
    this.#timer?.stop();
  }

  end(): void {
    this.#calls--;
    if (this.#calls === 0) this.#timer = this.#clock.after(idleMs, () => this.close());
  }

  close(): void {
    this.#timer?.stop();
    this.#forget();
    this.client.close();
    this.#channel.close();
  }
}

/** `refused`: a node refused, with a message and a code. `nothing`: no answer arrived in time, or the connection failed. */
type Answer = 'taken' | 'refused' | 'nothing';

function answerTo(call: Call, clock: Clock): Promise<Answer> {
  return new Promise((resolve) => {
    const timer = clock.after(provenWithinMs, () => resolve('nothing'));
    const answered = (answer: Answer) => {
      timer.stop();
      resolve(answer);
    };
    call.once('metadata', (answer) => {
      if (isOfGrpc(answer.get('content-type')[0])) answered('taken');
    });
    call.once('error', (error: ServiceError) => answered(isRefusal(error) ? 'refused' : 'nothing'));
  });
}

function over(): BanyanError {
  return new BanyanError('Unavailable', 'the session is over');
}
