/** Reads the requests of users. The library for this takes 9 MB, so it is loaded with the first request to a node. */
import type { RequestedCertificate } from '../../identity/user-request.ts';
import { BanyanError } from '../../runtime/errors.ts';

export class RequestReader {
  #read: ((pem: string) => RequestedCertificate) | undefined;

  async load(): Promise<void> {
    this.#read ??= (await import('../../identity/user-request.ts')).readUserRequest;
  }

  /** Throws Invalid with the mistake in the request, and Unavailable before `load`. */
  read(pem: string): RequestedCertificate {
    if (this.#read) return this.#read(pem);
    throw new BanyanError('Unavailable', 'the library for requests for certificates is not loaded yet: try again');
  }
}
