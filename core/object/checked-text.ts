/** Schemas of texts that people write, each with a check that names the mistake. */
import * as z from 'zod';
import { hostPortFlaw } from '../runtime/host-port.ts';
import { hostFlaw, subdomainFlaw } from './plain-names.ts';

/** `flaw`: returns the mistake in a text, or undefined. */
function checkedText(flaw: (text: string) => string | undefined) {
  return z.string().check((context) => {
    const mistake = flaw(context.value);
    if (mistake === undefined) return;
    context.issues.push({
      code: 'custom',
      message: `${JSON.stringify(context.value)}: ${mistake}`,
      input: context.value,
    });
  });
}

/** host:port, or [address]:port for IPv6. */
export const addressSchema = checkedText(hostPortFlaw);
/** A DNS name or an IP address, without brackets. */
export const hostSchema = checkedText(hostFlaw);
export const dnsNameSchema = checkedText(subdomainFlaw);
