/**
 * A session's calls for byte streams, at the parent. Where they come over a connection that does not end with the session, the open ones are listed, and end
 * with it. A call leaves the list with its end, whichever side it comes from, and one that is refused never enters it: grpc-js tells nothing more of a
 * call that has got its status.
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
  /** They outlive their session unless they are ended. */
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

  /** `session`: of its link. Throws what `onStream` throws, and the call is to be refused. */
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
    // As with a session: a call that is torn off ends too, and is told to be cancelled some turns later.
    call.on('end', () => setImmediate(() => (call.cancelled ? broke() : ended())));
    return link;
  }
}
