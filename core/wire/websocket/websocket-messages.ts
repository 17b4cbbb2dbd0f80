/** Everything that the two sides of a WebSocket send, except frames: https://www.rfc-editor.org/rfc/rfc6455 */
import { BanyanError, type ErrorCode, isErrorCode } from '../../runtime/errors.ts';
import { maxFrameBytes } from '../codec/frames.ts';
import { closeWithinMsMax } from '../frame-link.ts';

export const subprotocol = 'banyan.mesh.v1';

/** Paths of the requests. They resemble the methods of gRPC, so a gateway can route both in a similar way. */
export const sessionPath = '/banyan.mesh.v1/session';
export const streamPath = '/banyan.mesh.v1/stream';

/** Headers: the session's name, in the parent's answer and in requests for streams; and the number of a stream. */
export const linkHeader = 'banyan-link';
export const streamHeader = 'banyan-stream';

/** WebSocket accepts frames a little over the limit, so that the link itself refuses them with its own message. */
const slackBytes = 64 * 1024;

/** Options of both sides. There is no compression: most frames are already compressed or random, and a compressor would need 300 KB for each child. */
export const socketOptions = {
  perMessageDeflate: false,
  maxPayload: maxFrameBytes + slackBytes,
  // How long this side waits for the peer's close frame after it has sent its own.
  closeTimeout: closeWithinMsMax,
} as const;

export const closedInOrder = 1000;
/**
 * Close code for an aborted link, from the range for private use between applications (RFC 6455, section 7.4.2). The close frame contains the code and the
 * message of the error.
 */
export const brokenOff = 4000;
/** RFC 6455, section 5.5: a close frame has at most 125 bytes, two of which are the close code. */
const reasonBytesMax = 123;

/** The reason for a close frame. A text that is too long is cut between two characters. */
export function closeReason(text: string): string {
  let bytes = Buffer.from(text, 'utf8').subarray(0, reasonBytesMax).toString('utf8');
  while (Buffer.byteLength(bytes) > reasonBytesMax) bytes = bytes.slice(0, -1);
  return bytes;
}

export function brokenOffReason({ code, message }: BanyanError): string {
  return closeReason(`${code}: ${message}`);
}

/** The error in a close frame, or the error because the close frame is missing. Undefined: the peer has ended the link properly. */
export function errorOfClose(code: number, reason: string): BanyanError | undefined {
  switch (code) {
    case closedInOrder:
      return undefined;
    case brokenOff: {
      const [, sentCode, message] = /^([A-Za-z]+): (.*)$/s.exec(reason) ?? [];
      const errorCode: ErrorCode = sentCode !== undefined && isErrorCode(sentCode) ? sentCode : 'Protocol';
      return new BanyanError(errorCode, `broken off by the other side: ${message ?? reason}`);
    }
    case 1006:
      return new BanyanError('Unavailable', 'the connection broke');
    case 1009:
      return new BanyanError(
        'TooLarge',
        `the other side takes no frame of that size; the limit is ${maxFrameBytes} bytes`,
      );
    default:
      return new BanyanError(
        'Unavailable',
        `the other node, or something between the nodes, closed the connection (WebSocket code ${code}${reason === '' ? '' : `: ${reason}`})`,
      );
  }
}
