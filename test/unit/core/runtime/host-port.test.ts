import { expect, it } from 'vitest';
import { cannotListen } from '../../../../core/runtime/cannot-listen.ts';
import { hostPort, hostPortFlaw } from '../../../../core/runtime/host-port.ts';

it('puts an address of IPv6 in brackets, and nothing else', () => {
  const urls = ['::1', 'fd00::1', '127.0.0.1', 'relay.example'].map(
    (host) => new URL(`https://${hostPort(host, 8443)}`),
  );
  expect(urls.map(({ hostname, port }) => `${hostname} ${port}`)).toEqual([
    '[::1] 8443',
    '[fd00::1] 8443',
    '127.0.0.1 8443',
    'relay.example 8443',
  ]);
});

it('accepts host:port, and an address of IPv6 only in brackets', () => {
  expect(['relay.example:7443', '10.0.0.1:1', '[fd00::1]:65535'].map(hostPortFlaw)).toEqual(Array(3).fill(undefined));
  const wrong = [
    'relay.example',
    'fd00::1:7443',
    '[fd00::x]:1',
    '[10.0.0.1]:1',
    'a:0',
    'a:65536',
    'https://a:1',
    ':1',
    '',
  ];
  for (const text of wrong)
    expect([text, hostPortFlaw(text)]).toEqual([text, expect.stringMatching(/write host:port/)]);
});

it('says what to do if a server can not listen there', () => {
  const words = (code: string, port: number) =>
    cannotListen('::', port, Object.assign(new Error(code), { code })).message;
  expect(words('EACCES', 443)).toBe(
    "can't listen on [::]:443 (EACCES): choose port 1024 or above, or run the program with CAP_NET_BIND_SERVICE",
  );
  expect(words('EADDRINUSE', 443)).toMatch(/: free the port or choose another$/);
  expect(words('EADDRNOTAVAIL', 6443)).toMatch(/this machine has no such address/);
});
