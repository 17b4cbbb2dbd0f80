/**
 * A session's calls for byte streams, at the parent. If they come over a connection that does not end with the session, the open calls are listed, and are
 * ended with the session. A call leaves the list when it ends, from either side. A refused call never enters the list, because grpc-js reports nothing more
 * about a call that has got its status.
 */

import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { FrameLink } from '../frame-link.ts';
import type { LinkEvents } from '../link.ts';
import { callStatusOf } from './call-status.ts';

export type StreamCall = Pick<
  ServerDuplexStream<Buffer, Buffer>,
  'write' | 'end' | 'emit' | 'on' | 'sendMetadata' | 'cancelled'
>;

export interface StreamCallsOptions {
  readonly peer: PeerIdentity;
  readonly clock: Clock;
  /** The calls outlive their session unless they are ended. */
  readonly areListed: boolean;
}

export class StreamCalls {
  readonly #options: StreamCallsOptions;
  readonly #open = new Set<FrameLink>();

  constructor(options: StreamCallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** `session`: the events of the session's link. Throws what `onStream` throws; the caller then refuses the call. */
  begin(call: StreamCall, id: number, session: LinkEvents): void {
    if (!session.onStream) throw new BanyanError('NotFound', `stream ${id}: the session has no streams`);
    const link = this.#linkOf(call);
    const events = session.onStream(id, link);
    if (this.#options.areListed && link.isOpen) this.#open.add(link);
    call.sendMetadata(new Metadata());
    link.start(events);
    call.on('data', (bytes: Buffer) => link.received(bytes));
  }

  /** The session is over. */
  end(): void {
    for (const link of [...this.#open]) link.abort(new BanyanError('Unavailable', 'the session is over'));
  }

  #linkOf(call: StreamCall): FrameLink {
    const { peer, clock } = this.#options;
    const link: FrameLink = new FrameLink({
      peer,
      transport: 'grpc',
      clock,
      call: {
        write: (bytes, taken) => call.write(bytes, taken),
        end: () => call.end(),
        abort: (error) => {
          this.#open.delete(link);
          call.emit('error', callStatusOf(error));
        },
        bytesRead: () => 0,
      },
    });
    const broke = () => {
      this.#open.delete(link);
      link.failed(new BanyanError('Unavailable', 'the call of the stream broke'));
    };
    const ended = () => {
      this.#open.delete(link);
      link.ended();
    };
    call.on('cancelled', broke);
    // As with a session: a call that breaks also emits `end`, and is marked as cancelled some turns later.
    call.on('end', () => setImmediate(() => (call.cancelled ? broke() : ended())));
    return link;
  }
}
