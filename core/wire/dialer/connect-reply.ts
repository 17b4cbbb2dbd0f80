/**
 * The answer of a proxy to CONNECT (RFC 9110, section 9.3.6), fed in as it arrives. Bounded: a proxy that sends an endless header, or something else
 * altogether, is detected before it costs memory.
 */
import { BanyanError } from '../../runtime/errors.ts';

/** Bytes of the whole header. Servers allow some 8 to 32 KiB. */
export const replyBytesMax = 16 * 1024;
/** Longest text of a header that is shown. */
const shownCharsMax = 120;

const statusLine = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/;

export class ConnectReply {
  readonly #proxy: string;
  readonly #target: string;
  #bytes = Buffer.alloc(0);

  /** `proxy` and `target` as messages name them. */
  constructor(proxy: string, target: string) {
    this.#proxy = proxy;
    this.#target = target;
  }

  /** True once the tunnel is open. Throws Unavailable, Unauthorized, Forbidden or Protocol if it can't be opened. */
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
    // In TLS, the child sends first. Bytes that came already cannot be an answer.
    const early = this.#bytes.length - end - 4;
    if (early > 0) throw this.#protocol(`${early} bytes came through the tunnel before anything was sent`);
    return true;
  }

  /** The proxy closed the connection. The bytes received so far may show why. */
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

/** The first bytes decide, because a server of another protocol may never send the end of a line. */
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

/** For a message: one line, printable, short. */
function shown(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]+/g, ' ').trim();
  return printable.length > shownCharsMax ? `${printable.slice(0, shownCharsMax)}…` : printable;
}
