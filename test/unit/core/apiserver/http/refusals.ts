/** Checks for every answer to invalid input, for table-driven tests. */
import { expect, it } from 'vitest';
import type { ApiBench, Sent, Status } from './api-bench.ts';

export interface Refusal {
  readonly what: string;
  readonly request: readonly [method: string, path: string, sent?: Sent];
  readonly reason: string;
  readonly code: number;
  /** The whole message. If the message quotes a grammar or a library: its text about the field, the value and the remedy. */
  readonly message: string | RegExp;
  /** The field of each cause. */
  readonly fields?: readonly string[];
}

/** Every object of the space with its revision. */
export function everything({ space: { storage } }: ApiBench): string[] {
  const objects = storage.resources().flatMap((resource) => storage.scan(resource));
  return [String(storage.revision()), ...objects.map(({ revision, body }) => `${revision} ${Buffer.from(body)}`)];
}

/** The Status of a request that must be refused and must change nothing. */
export async function refused(api: ApiBench, method: string, path: string, sent: Sent = {}): Promise<Status> {
  const before = everything(api);
  const answer = await api.call(method, path, sent);
  expect(answer.type).toBe('application/json');
  const status = answer.json<Status>();
  expect(status).toMatchObject({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' });
  expect(status.code).toBe(answer.status);
  expect(everything(api)).toEqual(before);
  return status;
}

export function refuses(api: () => ApiBench, refusals: readonly Refusal[]): void {
  it.each(refusals.map((one) => [one.what, one] as const))(
    '%s',
    async (_, { request, reason, code, message, fields }) => {
      const status = await refused(api(), ...request);
      expect(status).toMatchObject({ reason, code });
      if (typeof message === 'string') expect(status.message).toBe(message);
      else expect(status.message).toMatch(message);
      if (fields) expect(status.details?.causes?.map((cause) => cause.field)).toEqual(fields);
    },
  );
}
