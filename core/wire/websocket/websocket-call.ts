/** A link on a WebSocket, of either side, which may have yet to be opened: what is sent before waits for it. */
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
  /** What an error is told with: the address, where it helps. */
  readonly shown?: string;
}

export class WebSocketCall implements FrameCall {
  readonly link: FrameLink;
  readonly #clock: Clock;
  readonly #socket: Pick<Socket, 'bytesRead'>;
  readonly #shown: string;
  #webSocket: WebSocket | undefined;
  /** Sent before it was open: bounded by the link's own queue. */
  #early: (() => void)[] = [];
  #error: BanyanError | undefined;
  /** In order, or broken off. */
  #isEnded = false;

  constructor({ socket, shown, ...options }: WebSocketCallOptions) {
    this.#clock = options.clock;
    this.#socket = socket;
    this.#shown = shown === undefined ? '' : `${shown}: `;
    this.link = new FrameLink({ ...options, call: this });
  }

  /** Tells the link from now on what comes; the link has to be started in this turn, or the WebSocket be paused. */
  opened(webSocket: WebSocket): void {
    this.#webSocket = webSocket;
    webSocket.binaryType = 'nodebuffer';
    webSocket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) return this.link.received(data);
      // Any number of texts may be under way behind the one that ended it, each of which is six bytes.
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

  /** The rest is TCP's for as long as `socketOptions` say: when it has reached the peer nobody can see but by the peer's answer. */
  end(reason: string): void {
    this.#isEnded = true;
    this.#whenOpen((webSocket) => webSocket.close(closedInOrder, closeReason(reason)));
  }

  /** Once, and not behind an end: a connection that is closed on what comes over it loses what is still under way to the peer. */
  abort(error: BanyanError): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#whenOpen((webSocket) => {
      webSocket.close(brokenOff, brokenOffReason(error));
      // A peer that takes nothing will not answer either.
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

/** https://github.com/websockets/ws/blob/master/doc/ws.md#ws-error-codes */
function errorOf(error: Error): BanyanError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') {
    return new BanyanError('TooLarge', `a frame far over the limit of ${maxFrameBytes} bytes`, {}, { cause: error });
  }
  const isProtocol = code?.startsWith('WS_ERR_') ?? false;
  return new BanyanError(isProtocol ? 'Protocol' : 'Unavailable', error.message, {}, { cause: error });
}
