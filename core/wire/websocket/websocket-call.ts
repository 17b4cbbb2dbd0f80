/** A link on a WebSocket, for both sides. The WebSocket need not be open yet: frames that are sent before then wait for it. */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { lingerMs } from '../acceptor.ts';
import { maxFrameBytes } from '../codec/frames.ts';
import { type FrameCall, FrameLink, type FrameLinkOptions } from '../frame-link.ts';
import { brokenOff, brokenOffReason, closedInOrder, closeReason, errorOfClose } from './websocket-messages.ts';

export interface WebSocketCallOptions extends Omit<FrameLinkOptions, 'call'> {
  readonly socket: Pick<Socket, 'bytesRead'>;
  /** Beginning of error messages: the address, if it helps the reader. */
  readonly shown?: string;
}

export class WebSocketCall implements FrameCall {
  readonly link: FrameLink;
  readonly #clock: Clock;
  readonly #socket: Pick<Socket, 'bytesRead'>;
  readonly #shown: string;
  #webSocket: WebSocket | undefined;
  /** Calls that wait until the WebSocket is open. The link's own queue bounds them. */
  #early: (() => void)[] = [];
  #error: BanyanError | undefined;
  /** True after this side has ended the call, properly or by an abort. */
  #isEnded = false;

  constructor({ socket, shown, ...options }: WebSocketCallOptions) {
    this.#clock = options.clock;
    this.#socket = socket;
    this.#shown = shown === undefined ? '' : `${shown}: `;
    this.link = new FrameLink({ ...options, call: this });
  }

  /** Passes events to the link from now on. The caller must start the link in this turn of the event loop, or must have paused the WebSocket. */
  opened(webSocket: WebSocket): void {
    this.#webSocket = webSocket;
    webSocket.binaryType = 'nodebuffer';
    webSocket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) return this.link.received(data);
      // After a text frame has ended the link, many more text frames of six bytes each may still arrive.
      if (!this.link.isOpen) return;
      this.link.abort(new BanyanError('Protocol', `${data.length} bytes of text, which is no frame`));
    });
    webSocket.on('error', (error) => {
      this.#error = errorOf(error);
    });
    webSocket.on('close', (code, reason) => {
      const error = this.#error ?? errorOfClose(code, reason.toString('utf8'));
      if (!error) return this.link.ended();
      this.link.failed(new BanyanError(error.code, `${this.#shown}${error.message}`, {}, { cause: error }));
    });
    const early = this.#early;
    this.#early = [];
    for (const send of early) send();
  }

  write(bytes: Buffer, taken: () => void): void {
    this.#whenOpen((webSocket) => webSocket.send(bytes, taken));
  }

  /**
   * Sends the close frame. After this, TCP may deliver for as long as `socketOptions` allow. Only the peer's answer shows that the frames have reached the
   * peer.
   */
  end(reason: string): void {
    this.#isEnded = true;
    this.#whenOpen((webSocket) => webSocket.close(closedInOrder, closeReason(reason)));
  }

  /**
   * Sends the error in a close frame, once, and not after an end. Does not close the connection at once: if bytes arrive on a closed connection, bytes that
   * are still on their way to the peer are lost.
   */
  abort(error: BanyanError): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#whenOpen((webSocket) => {
      webSocket.close(brokenOff, brokenOffReason(error));
      // A peer that reads nothing does not answer the close frame either.
      this.#clock.after(lingerMs, () => webSocket.terminate());
    });
  }

  bytesRead(): number {
    return this.#socket.bytesRead;
  }

  #whenOpen(run: (webSocket: WebSocket) => void): void {
    const webSocket = this.#webSocket;
    if (webSocket) run(webSocket);
    else this.#early.push(() => run(this.#webSocket!));
  }
}

/** Explains an error of ws: https://github.com/websockets/ws/blob/master/doc/ws.md#ws-error-codes */
function errorOf(error: Error): BanyanError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') {
    return new BanyanError('TooLarge', `a frame far over the limit of ${maxFrameBytes} bytes`, {}, { cause: error });
  }
  const isProtocol = code?.startsWith('WS_ERR_') ?? false;
  return new BanyanError(isProtocol ? 'Protocol' : 'Unavailable', error.message, {}, { cause: error });
}
