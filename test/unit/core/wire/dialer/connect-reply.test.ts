import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { ConnectReply, replyBytesMax } from '../../../../../core/wire/dialer/connect-reply.ts';

const reply = () => new ConnectReply('the proxy http://p:3128', 'eu.example:7443');

function refusal(text: string): { code: string; message: string } {
  try {
    expect(reply().push(Buffer.from(text, 'latin1'))).toBe('a refusal');
  } catch (error) {
    if (error instanceof BanyanError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('unreachable');
}

describe("a proxy's answer to CONNECT", () => {
  it.each(['HTTP/1.1 200 Connection established\r\n\r\n', 'HTTP/1.0 200 OK\r\nVia: x\r\n\r\n', 'HTTP/1.1 204\r\n\r\n'])(
    'opens the tunnel: %j',
    (text) => {
      expect(reply().push(Buffer.from(text))).toBe(true);
    },
  );

  it('may arrive in pieces of any size', () => {
    const text = 'HTTP/1.1 200 Connection established\r\nVia: 1.1 squid\r\n\r\n';
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 80 }), (sizes) => {
        const read = reply();
        let at = 0;
        let opened = false;
        for (let i = 0; at < text.length; i++) {
          expect(opened).toBe(false);
          const piece = text.slice(at, at + (sizes[i] ?? text.length));
          at += piece.length;
          opened = read.push(Buffer.from(piece));
        }
        expect(opened).toBe(true);
      }),
    );
  });

  it('407 names the offered ways to authenticate, and where the password goes', () => {
    const header = 'Proxy-Authenticate: Negotiate\r\nproxy-authenticate: NTLM\r\nProxy-Authenticate: Basic realm="x"';
    expect(refusal(`HTTP/1.1 407 Proxy Authentication Required\r\n${header}\r\n\r\n<html>`)).toEqual({
      code: 'Unauthorized',
      message:
        'the proxy http://p:3128 wants authentication (407 Proxy Authentication Required; it offers Negotiate, NTLM, Basic): ' +
        'write name and password into link.proxy (http://user:password@host:port); Basic is supported',
    });
  });

  it('407 without such a way is reported as that', () => {
    expect(refusal('HTTP/1.1 407 No\r\n\r\n').message).toContain('407 No; it names no scheme');
  });

  it('403 names the address that has to be allowed', () => {
    expect(refusal('HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n<html>')).toEqual({
      code: 'Forbidden',
      message:
        'the proxy http://p:3128 does not allow eu.example:7443 (403 Forbidden): allow CONNECT to this host and port there',
    });
  });

  it('503 says that the parent is not reached, with the reason of the proxy', () => {
    expect(refusal('HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_CONNECT_FAIL 111\r\n\r\n')).toEqual({
      code: 'Unavailable',
      message: 'the proxy http://p:3128 does not reach eu.example:7443 (503 Service Unavailable; ERR_CONNECT_FAIL 111)',
    });
  });

  it.each([
    [
      'HTTP/1.1 405 Method Not Allowed\r\n\r\n',
      'answers CONNECT to eu.example:7443 with 405 Method Not Allowed: is it a proxy',
    ],
    ['HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n', 'with 302 Found'],
    ['HTTP/1.1 abc\r\n\r\n', 'its answer begins with "HTTP/1.1 abc"'],
    ['<!DOCTYPE html><html>', 'it does not answer as an HTTP proxy does: "<!DOCTYPE html><html>"'],
    ['\x15\x03\x01\x00\x02\x02', 'it does not answer as an HTTP proxy does'],
    ['SSH-2.0-OpenSSH_9.2\r\n', 'it does not answer as an HTTP proxy does: "SSH-2.0-OpenSSH_9.2"'],
    ['HTTP/1.1 200 OK\r\n\r\nmore', '4 bytes came through the tunnel before anything was sent'],
  ])('%j is no tunnel', (text, messagePart) => {
    const { code, message } = refusal(text);
    expect(code).toBe('Protocol');
    expect(message).toContain(messagePart);
  });

  it('has a maximum length', () => {
    const read = reply();
    expect(read.push(Buffer.from('HTTP/1.1 200 OK\r\n'))).toBe(false);
    const line = Buffer.from(`X: ${'y'.repeat(1000)}\r\n`);
    const endless = () => {
      for (let i = 0; i <= replyBytesMax / 1000; i++) expect(read.push(line)).toBe(false);
    };
    expect(endless).toThrow(`the header of its answer has more than ${replyBytesMax} bytes`);
  });

  it('never puts more than a printable line of the answer into a message', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 8, maxLength: 4000 }), (bytes) => {
        const read = reply();
        try {
          read.push(bytes);
          expect(read.ended().message.length).toBeLessThan(400);
        } catch (error) {
          expect((error as Error).message).toMatch(/^[\x20-\x7e…]{1,400}$/);
        }
      }),
    );
  });

  it('that breaks off is reported as that', () => {
    expect(reply().ended().message).toBe('the proxy http://p:3128 closed the connection without an answer');
    const read = reply();
    read.push(Buffer.from('HTTP/1.1 20'));
    expect(read.ended().message).toContain('in the middle of its answer "HTTP/1.1 20"');
  });
});
