/**
 * The calls for byte streams of one session, at the parent. On a shared connection, the calls would continue after their session. So this class keeps a
 * list of the open calls, and ends them with the session. A call leaves the list when either side ends it. A refused call never enters the list, because
 * after its status grpc-js reports nothing more about a call.
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
  /** True if calls would continue after the end of their session, so that this class must end them. */
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

  /** Begins the stream of a call. `session` are the events of the session's link. Throws the error of `onStream`; the caller must then refuse the call. */
  begin(call: StreamCall, id: number, session: LinkEvents): void {
    if (!session.onStream) throw new BanyanError('NotFound', `stream ${id}: the session has no streams`);
    const link = this.#linkOf(call);
    const events = session.onStream(id, link);
    if (this.#options.areListed && link.isOpen) this.#open.add(link);
    call.sendMetadata(new Metadata());
    link.start(events);
    call.on('data', (bytes: Buffer) => link.received(bytes));
  }

  /** Ends all listed calls, because the session is over. */
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
    // A broken call also emits `end`. grpc-js marks it as cancelled only some turns later. The call of a session has the same problem (grpc-acceptor.ts).
    call.on('end', () => setImmediate(() => (call.cancelled ? broke() : ended())));
    return link;
  }
}
