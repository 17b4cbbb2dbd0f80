/** The child's side: one connection and one call to the parent. The parent's certificate must contain the parent's path. */
import { Client, type ClientDuplexStream, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../runtime/clock.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { SecureConnection } from '../dialer/secure-connection.ts';
import type { Way } from '../dialer/way.ts';
import { FrameLink } from '../frame-link.ts';
import type { Dialer, Link, LinkEvents } from '../link.ts';
import { errorOfCall } from './call-status.ts';
import { channelOptions } from './channel-options.ts';
import { linkKey, StreamDialer } from './grpc-streams.ts';
import { boundAnswers } from './message-bounds.ts';
import { asBytes, isOfGrpc, sessionMethod } from './session-method.ts';
import { TlsChannel } from './tls-channel.ts';

type Call = ClientDuplexStream<Buffer, Buffer>;

export function grpcDialer(way: Way): Dialer {
  boundAnswers();
  const { shown: address, clock } = way;
  // The authority for gateways between child and parent. The connection itself goes to the proxy first, if there is one.
  const options = { ...channelOptions, 'grpc.default_authority': way.address };
  return {
    async dial(events, timeoutMs) {
      const newChannel = () => new TlsChannel(way);
      const channel = newChannel();
      const client = new Client(way.tcpAddress, channel, options);
      const call: Call = client.makeBidiStreamRequest(sessionMethod, asBytes, asBytes, new Metadata());
      // This listener is never removed: an aborted call emits an error too, and an error may occur before the link exists.
      let failure: Error | undefined;
      call.on('error', (error) => {
        failure = error;
      });
      let streams: StreamDialer | undefined;
      let carrier: SecureConnection;
      const tearDown = () => {
        streams?.close();
        // Closes the connection first. Otherwise node:http2 would end the stream before it resets the stream, and for a while this would look like a proper
        // end.
        channel.close();
        call.cancel();
        client.close();
      };
      try {
        const answer = await accepted(call, address, clock, timeoutMs);
        carrier = channel.settle();
        streams = new StreamDialer({
          address,
          clock,
          link: sessionNameOf(answer, address),
          peer: carrier.peer,
          client,
          newClient: () => {
            const apart = newChannel();
            return { client: new Client(way.tcpAddress, apart, options), channel: apart };
          },
        });
      } catch (error) {
        tearDown();
        throw channel.refusal ?? (error instanceof BanyanError ? error : errorOfCall(address, error as ServiceError));
      }
      return linkOf({ call, carrier, way, failure, streams, tearDown }, events);
    },
  };
}

interface Connected {
  readonly call: Call;
  readonly carrier: SecureConnection;
  readonly way: Way;
  readonly failure: Error | undefined;
  readonly streams: StreamDialer;
  tearDown(): void;
}

function linkOf({ call, carrier, way, failure, streams, tearDown }: Connected, events: LinkEvents): Link {
  const link = new FrameLink({
    transport: `grpc${way.suffix}`,
    openStream: (id, apart, streamEvents) => streams.open(id, apart, streamEvents),
    peer: carrier.peer,
    expiry: carrier.expiry,
    clock: way.clock,
    call: {
      write: (bytes, taken) => call.write(bytes, taken),
      end: () => call.end(),
      // The call of a client has no trailers, so the parent does not get the reason. The parent sees that the call was aborted. The reason is in the log of
      // this side.
      abort: tearDown,
      bytesRead: () => carrier.socket.bytesRead,
    },
  });
  const broke = (error: Error) => {
    link.failed(errorOfCall(way.shown, error as ServiceError));
    tearDown();
  };
  // An error is emitted before `end`. The `end` event then reports nothing new.
  call.on('error', broke);
  call.on('end', () => {
    link.ended();
    tearDown();
  });
  if (failure) broke(failure);
  // Starts the link in the next turn of the event loop, so that the caller has the link before its first frame.
  setImmediate(() => {
    link.start(events);
    call.on('data', (bytes: Buffer) => link.received(bytes));
  });
  return link;
}

/** The session's name from the parent's answer. Calls for streams contain this name. */
function sessionNameOf(answer: Metadata, address: string): string {
  const [name] = answer.get(linkKey);
  if (typeof name === 'string') return name;
  throw new BanyanError('Protocol', `${address}: the answer does not name the session in ${linkKey}`);
}

/** Waits until the parent has accepted the call: the parent then sends its headers. */
function accepted(call: Call, address: string, clock: Clock, timeoutMs: number): Promise<Metadata> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(timeoutMs, () => {
      reject(new BanyanError('Unavailable', `${address}: no answer within ${durationText(timeoutMs)}`));
    });
    call.once('metadata', (answer) => {
      // The answer is from a gateway. It ends the call, and the `error` event reports the status.
      if (!isOfGrpc(answer.get('content-type')[0])) return;
      timer.stop();
      resolve(answer);
    });
    call.once('error', (error) => {
      timer.stop();
      reject(error);
    });
  });
}
