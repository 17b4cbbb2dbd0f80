/** The error of a server that can't listen where it should. */
import { BanyanError } from './errors.ts';
import { hostPort } from './host-port.ts';

/** Only root, and programs with CAP_NET_BIND_SERVICE, may listen below this port: https://man7.org/linux/man-pages/man7/ip.7.html */
const firstFreePort = 1024;

export function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): BanyanError {
  const remedies: Readonly<Record<string, string | undefined>> = {
    EACCES:
      port < firstFreePort
        ? `choose port ${firstFreePort} or above, or run the program with CAP_NET_BIND_SERVICE`
        : undefined,
    EADDRNOTAVAIL: 'this machine has no such address: choose one that it has, or :: for all',
    ENOTFOUND: 'the name is not known: write an address of this machine, or :: for all',
  };
  const remedy = remedies[cause.code ?? ''] ?? 'free the port or choose another';
  const why = `can't listen on ${hostPort(host, port)} (${cause.code ?? cause.message}): ${remedy}`;
  return new BanyanError('Unavailable', why, {}, { cause });
}
