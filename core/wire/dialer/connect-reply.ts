/**
 * Reads the answer of a proxy to CONNECT (RFC 9110, section 9.3.6), piece by piece as the bytes arrive. Bounded: if the proxy sends an endless header or
 * another protocol, the reader throws before this costs much memory.
 */
import { BanyanError } from '../../runtime/errors.ts';

/** Maximal number of bytes of the whole header. Servers allow about 8 to 32 KiB. */
export const replyBytesMax = 16 * 1024;
/** Maximal number of characters of a header that a message shows. */
const shownCharsMax = 120;

const statusLine = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/;

export class ConnectReply {
  readonly #proxy: string;
  readonly #target: string;
  #bytes = Buffer.alloc(0);

  /** `proxy` and `target` are the names for messages. */
  constructor(proxy: string, target: string) {
    this.#proxy = proxy;
    this.#target = target;
  }

  /**
   * Adds received bytes. Returns true once the tunnel is open. Throws Unavailable, Unauthorized, Forbidden or Protocol if the proxy does not open the
   * tunnel.
   */
  push(chunk: Uint8Array): boolean {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!couldBeHttp(this.#bytes)) {
      throw this.#protocol(`it does not answer as an HTTP proxy does: "${shown(this.#bytes.toString('latin1'))}"`);
    }
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end < 0 || end > replyBytesMax) {
      if (end < 0 && this.#bytes.length <= replyBytesMax) return false;
      throw this.#protocol(`the header of its answer has more than ${replyBytesMax} bytes`);
    }
    this.#judge(this.#bytes.toString('latin1', 0, end).split('\r\n'));
    // In TLS, the child sends first. So bytes that follow the header at once can't be an answer of the parent.
    const early = this.#bytes.length - end - 4;
    if (early > 0) throw this.#protocol(`${early} bytes came through the tunnel before anything was sent`);
    return true;
  }

  /** Call it when the proxy has closed the connection. Returns the error. The bytes that were received may show the reason. */
  ended(): BanyanError {
    const [first = ''] = this.#bytes.toString('latin1').split('\r\n');
    const after = first === '' ? 'without an answer' : `in the middle of its answer "${shown(first)}"`;
    return new BanyanError('Unavailable', `${this.#proxy} closed the connection ${after}`);
  }

  #judge(lines: readonly string[]): void {
    const [, code, words = ''] = statusLine.exec(lines[0]!) ?? [];
    if (code === undefined) throw this.#protocol(`its answer begins with "${shown(lines[0]!)}"`);
    const status = Number(code);
    if (status >= 200 && status < 300) return;
    const answer = `${code}${words === '' ? '' : ` ${shown(words)}`}`;
    const headers = headersOf(lines.slice(1));
    if (status === 407) {
      const schemes = (headers.get('proxy-authenticate') ?? []).map((value) => value.split(/\s/)[0]!);
      const offered =
        schemes.length > 0 ? `it offers ${shown([...new Set(schemes)].join(', '))}` : 'it names no scheme';
      const remedy = 'write name and password into link.proxy (http://user:password@host:port); Basic is supported';
      throw new BanyanError('Unauthorized', `${this.#proxy} wants authentication (${answer}; ${offered}): ${remedy}`);
    }
    if (status === 403) {
      const remedy = 'allow CONNECT to this host and port there';
      throw new BanyanError('Forbidden', `${this.#proxy} does not allow ${this.#target} (${answer}): ${remedy}`);
    }
    const reason = headers.get('x-squid-error')?.[0];
    const why = reason === undefined ? '' : `; ${shown(reason)}`;
    if (status >= 500) {
      throw new BanyanError('Unavailable', `${this.#proxy} does not reach ${this.#target} (${answer}${why})`);
    }
    throw this.#protocol(`it answers CONNECT to ${this.#target} with ${answer}${why}: is it a proxy for CONNECT?`);
  }

  #protocol(what: string): BanyanError {
    return new BanyanError('Protocol', `${this.#proxy}: ${what}`);
  }
}

/** Looks at the first bytes: a server of another protocol may never send the end of a line. */
function couldBeHttp(bytes: Buffer): boolean {
  const begin = 'HTTP/1.';
  return begin.startsWith(bytes.toString('latin1', 0, begin.length));
}

function headersOf(lines: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()]);
  }
  return headers;
}

/** The text for a message: one short line of printable characters. */
function shown(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]+/g, ' ').trim();
  return printable.length > shownCharsMax ? `${printable.slice(0, shownCharsMax)}…` : printable;
}
