/** The controllers of CertificateSigningRequests: the signer, if the node has the key, and the cleanup of old requests. */
import type { UserSigner } from '../../identity/user-signer.ts';
import { RequestCleanup } from './request-cleanup.ts';
import { RequestSigner, type RequestSignerPorts } from './request-signer.ts';

export interface RequestControllers {
  start(): void;
  stop(): void;
}

/** `signer`: absent: approved requests stay unsigned. */
export function requestControllers(
  ports: Omit<RequestSignerPorts, 'signer'> & { readonly signer?: UserSigner | undefined },
): RequestControllers {
  const { signer } = ports;
  const parts = [new RequestCleanup(ports), ...(signer ? [new RequestSigner({ ...ports, signer })] : [])];
  return {
    start() {
      for (const part of parts) part.start();
    },
    stop() {
      for (const part of parts) part.stop();
    },
  };
}
