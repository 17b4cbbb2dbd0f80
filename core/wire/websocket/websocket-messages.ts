/** What both sides of a WebSocket say beside frames: https://www.rfc-editor.org/rfc/rfc6455 */
import { BanyanError, type ErrorCode, isErrorCode } from '../../runtime/errors.ts';
import { maxFrameBytes } from '../codec/frames.ts';
import { closeWithinMsMax } from '../frame-link.ts';

export const subprotocol = 'banyan.mesh.v1';

/** Paths of the requests, which a gateway may route by. They resemble the methods of gRPC. */
export const sessionPath = '/banyan.mesh.v1/session';
export const streamPath = '/banyan.mesh.v1/stream';

/** Headers: the session's name in the parent's answer and in requests for streams, and a stream's number. */
export const linkHeader = 'banyan-link';
export const streamHeader = 'banyan-stream';

/** Frames a little over the limit still come in, so that it is the link that refuses them, in its own words. */
const slackBytes = 64 * 1024;

/** Options of both sides. Frames are mostly compressed or random already, and a compressor a child would cost 300 KB each. */
export const socketOptions = {
  perMessageDeflate: false,
  maxPayload: maxFrameBytes + slackBytes,
  // How long the peer's close frame is waited for after the own one.
  closeTimeout: closeWithinMsMax,
} as const;

export const closedInOrder = 1000;
/** For use between applications (RFC 6455, section 7.4.2): a link that is broken off, with the code and the words of the reason. */
export const brokenOff = 4000;
/** Section 5.5: of a close frame's 125 bytes, two are the code. */
const reasonBytesMax = 123;

/** The reason of a close frame, cut where a character ends. */
export function closeReason(text: string): string {
  let bytes = Buffer.from(text, 'utf8').subarray(0, reasonBytesMax).toString('utf8');
  while (Buffer.byteLength(bytes) > reasonBytesMax) bytes = bytes.slice(0, -1);
  return bytes;
}

export function brokenOffReason({ code, message }: BanyanError): string {
  return closeReason(`${code}: ${message}`);
}

/** The error that a close frame tells, or that there was none; undefined: ended in order. */
export function errorOfClose(code: number, reason: string): BanyanError | undefined {
  switch (code) {
    case closedInOrder:
      return undefined;
    case brokenOff: {
      const [, told, words] = /^([A-Za-z]+): (.*)$/s.exec(reason) ?? [];
      const known: ErrorCode = told !== undefined && isErrorCode(told) ? told : 'Protocol';
      return new BanyanError(known, `broken off by the other side: ${words ?? reason}`);
    }
    case 1006:
      return new BanyanError('Unavailable', 'the connection broke');
    case 1009:
      return new BanyanError(
        'TooLarge',
        `the other side takes no frame of that size; the limit is ${maxFrameBytes} bytes`,
      );
    default:
      return new BanyanError('Unavailable', `closed on the way with ${code}${reason === '' ? '' : ` (${reason})`}`);
  }
}
