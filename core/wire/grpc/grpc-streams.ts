/**
 * Calls for byte streams beside a session's: small ones on its own connection, large ones on a second one, since a TCP connection is one
 * queue. The parent names each session by a random word in its answer; a call says which session it belongs to and which stream it is for,
 * so the same child can't reach into another of its sessions, and nobody else into any.
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

/** Metadata, ASCII. */
export const linkKey = 'banyan-link';
const streamKey = 'banyan-stream';

/** A second connection with nothing to carry is closed after this: another large stream often follows one. */
const idleMs = 60_000;
/** A second connection may end at another node, behind a balancer, or nowhere. Then large streams go with the session for that long. */
const togetherMs = 60_000;
/** For a connection through proxies, its handshake and an answer. */
const provenWithinMs = 5_000;

type Call = ClientDuplexStream<Buffer, Buffer>;

export interface StreamAddress {
  readonly link: string;
  readonly id: number;
}

/** Of a call for a stream. Throws Protocol. */
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
  /** As the parent named the session. */
  readonly link: string;
  readonly peer: PeerIdentity;
  /** Of the session's connection. */
  readonly client: Client;
  /** For another connection, made like the first. */
  newClient(): { readonly client: Client; readonly channel: TlsChannel };
}

/** The child's calls of one session. */
export class StreamDialer {
  readonly #options: StreamDialerOptions;
  readonly #calls = new Set<() => void>();
  #apart: Apart | undefined;
  #togetherUntilMs = 0;
  #closed = false;

  constructor(options: StreamDialerOptions) {
    this.#options = options;
  }

  async open(id: number, apart: boolean, events: LinkEvents): Promise<Link> {
    const { client, clock } = this.#options;
    if (this.#closed) throw over();
    if (!apart || clock.monotonicMs() < this.#togetherUntilMs) return this.#linkOf(this.#call(client, id), events);
    const connection = this.#connectionApart();
    const { call, answer } = await this.#askApart(connection, id);
    if (this.#closed) throw over();
    if (answer === 'taken') return this.#linkOf(call, events, () => connection.end());
    connection.end();
    if (answer === 'nothing') this.#together(connection);
    const together = this.#call(client, id);
    // By the session itself, which will say so again, or by another node: then this one is taken.
    if (answer === 'refused') together.once('metadata', () => this.#together(connection));
    return this.#linkOf(together, events);
  }

  /** The session is over: its streams end with it. */
  close(): void {
    this.#closed = true;
    for (const cancel of [...this.#calls]) cancel();
    this.#apart?.close();
  }

  #connectionApart(): Apart {
    // The next one has to be proven again: behind a balancer it may lead elsewhere.
    if (this.#apart?.isBroken) this.#apart.close();
    const { clock, newClient } = this.#options;
    const connection =
      this.#apart ??
      new Apart(newClient(), clock, () => {
        if (this.#apart === connection) this.#apart = undefined;
      });
    this.#apart = connection;
    return connection;
  }

  /** Until one was taken, the answer is waited for. */
  async #askApart(connection: Apart, id: number): Promise<{ call: Call; answer: Answer }> {
    connection.begin();
    const call = this.#call(connection.client, id);
    const answer = connection.isProven ? 'taken' : await answerTo(call, this.#options.clock);
    if (answer === 'taken') connection.prove();
    else call.cancel();
    return { call, answer };
  }

  /** The connection does not lead to the session, unless it was proven meanwhile that it does. */
  #together(connection: Apart): void {
    if (connection.isProven) return;
    connection.close();
    this.#togetherUntilMs = this.#options.clock.monotonicMs() + togetherMs;
  }

  #call(client: Client, id: number): Call {
    const metadata = new Metadata();
    metadata.set(linkKey, this.#options.link);
    metadata.set(streamKey, String(id));
    const call: Call = client.makeBidiStreamRequest(streamMethod, asBytes, asBytes, metadata);
    // Stays, since one that is broken off emits an error too.
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

/** A connection for large streams, with as many calls as there are such streams. */
class Apart {
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

  /** A call on it was taken. */
  get isProven(): boolean {
    return this.#carrier !== undefined;
  }

  /** It was proven, and is no more: its channel makes no other connection. */
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

/** By a node: it has words, with a code. By nobody: in time, or because nobody is reached. */
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
