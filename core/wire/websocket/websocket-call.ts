/** A link on a WebSocket, for either side. The WebSocket may still have to open: frames that are sent before wait for it. */
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
  /** Prefix of errors: the address, where it helps. */
  readonly shown?: string;
}

export class WebSocketCall implements FrameCall {
  readonly link: FrameLink;
  readonly #clock: Clock;
  readonly #socket: Pick<Socket, 'bytesRead'>;
  readonly #shown: string;
  #webSocket: WebSocket | undefined;
  /** Calls that wait until the WebSocket is open. Bounded by the link's own queue. */
  #early: (() => void)[] = [];
  #error: BanyanError | undefined;
  /** This side has ended the call, in order or by an abort. */
  #isEnded = false;

  constructor({ socket, shown, ...options }: WebSocketCallOptions) {
    this.#clock = options.clock;
    this.#socket = socket;
    this.#shown = shown === undefined ? '' : `${shown}: `;
    this.link = new FrameLink({ ...options, call: this });
  }

  /** From now on, passes events to the link. The link has to be started in this turn, or the WebSocket has to be paused. */
  opened(webSocket: WebSocket): void {
    this.#webSocket = webSocket;
    webSocket.binaryType = 'nodebuffer';
    webSocket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) return this.link.received(data);
      // After the text that ended the link, any number of further texts may be on their way, of six bytes each.
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

  /** After this, TCP delivers for as long as `socketOptions` allow. Only the peer's answer shows that the frames have reached the peer. */
  end(reason: string): void {
    this.#isEnded = true;
    this.#whenOpen((webSocket) => webSocket.close(closedInOrder, closeReason(reason)));
  }

  /** Works once, and not after an end: a connection that is closed while bytes arrive on it loses the bytes that are still on their way to the peer. */
  abort(error: BanyanError): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#whenOpen((webSocket) => {
      webSocket.close(brokenOff, brokenOffReason(error));
      // A peer that reads nothing does not answer either.
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
