/**
 * Calls for byte streams beside a session's call: small streams on the session's connection, large ones on a second connection, since a TCP connection is one
 * queue. The parent's answer names each session by a random text. A call names its session and its stream, so the same child can't reach into another of its
 * sessions, and nobody else into any.
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

/** Names of metadata, ASCII. */
export const linkKey = 'banyan-link';
const streamKey = 'banyan-stream';

/** A second connection without streams is closed after this time, since another large stream often follows one. */
const idleMs = 60_000;
/** A second connection may lead to another node, behind a balancer, or nowhere. Then large streams use the session's connection for this time. */
const sessionConnectionMs = 60_000;
/** Time for a connection through proxies, its handshake and an answer. */
const provenWithinMs = 5_000;

type Call = ClientDuplexStream<Buffer, Buffer>;

export interface StreamAddress {
  readonly link: string;
  readonly id: number;
}

/** The session and the stream that a call names. Throws Protocol. */
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
  /** The session's name from the parent. */
  readonly link: string;
  readonly peer: PeerIdentity;
  /** The client of the session's connection. */
  readonly client: Client;
  /** Makes a client for another connection, in the same way. */
  newClient(): { readonly client: Client; readonly channel: TlsChannel };
}

/** The child's calls of one session. */
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
    // Either the session itself refused the stream, and will refuse it again; or another node did, and then the session takes the stream now.
    if (answer === 'refused') sessionCall.once('metadata', () => this.#useSessionConnection(second));
    return this.#linkOf(sessionCall, events);
  }

  /** The session is over: its streams end with it. */
  close(): void {
    this.#closed = true;
    for (const cancel of [...this.#calls]) cancel();
    this.#second?.close();
  }

  #secondConnection(): SecondConnection {
    // The next second connection has to be proven again: behind a balancer it may lead elsewhere.
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

  /** Waits for the answer, until one call on this connection was accepted. */
  async #askSecond(connection: SecondConnection, id: number): Promise<{ call: Call; answer: Answer }> {
    connection.begin();
    const call = this.#call(connection.client, id);
    const answer = connection.isProven ? 'taken' : await answerTo(call, this.#options.clock);
    if (answer === 'taken') connection.prove();
    else call.cancel();
    return { call, answer };
  }

  /** The second connection does not lead to the session, unless it was proven meanwhile: closes it, and uses the session's connection for a while. */
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
    // This listener remains, since an aborted call emits an error too.
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

/** A second connection for large streams, with one call for each such stream. */
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

  /** A call on this connection was accepted. */
  get isProven(): boolean {
    return this.#carrier !== undefined;
  }

  /** The connection was proven and has broken. Its channel makes no other connection. */
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

/** `refused`: a node refused, with a message and a code. `nothing`: no answer came in time, or nobody was reached. */
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
