import { describe, expect, it } from 'vitest';
import { inMailbox, onCluster } from '../../../../center/cli/why-mailbox.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError, type ErrorCode } from '../../../../core/runtime/errors.ts';

const path = '/api/v1/namespaces/shop/configmaps/prices';
const prices: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'prices', uid: 'u-1' } };

/** The object at each context, by path; a code stands for an error. */
function tree(there: Readonly<Record<string, Readonly<Record<string, KubeObject>> | ErrorCode>>) {
  const asked: string[] = [];
  return {
    asked,
    contexts: () => Object.keys(there),
    get: async (context: string, at: string) => {
      asked.push(`${context} ${at}`);
      const shown = there[context];
      if (typeof shown === 'string') throw new BanyanError(shown, `${context} does not answer`);
      return shown?.[at];
    },
  };
}

describe('the mailbox of an agent', () => {
  it('is read under its name in the kubeconfig', async () => {
    const api = tree({ 'mailbox/eu:till': { [path]: prices }, 'node/eu': {} });
    expect(await inMailbox(api, 'eu:till', path)).toBe(prices);
    expect(api.asked).toEqual([`mailbox/eu:till ${path}`]);
  });

  it('is read at the parent if the kubeconfig does not name it, at whatever level that is', async () => {
    const held = { [`/mailboxes/till${path}`]: prices };
    expect(await inMailbox(tree({ 'node/eu': held, 'node/center': {} }), 'eu:till', path)).toBe(prices);
    expect(await inMailbox(tree({ 'node/eu': {}, 'node/center': held }), 'till', path)).toBe(prices);
    expect(await inMailbox(tree({ 'node/eu': {}, 'node/center': held }), 'eu:till', path)).toBe(undefined);
  });

  it('is read at the first replica of the parent that answers; any other error is passed on', async () => {
    const held = { [`/mailboxes/till${path}`]: prices };
    expect(await inMailbox(tree({ 'node/eu': 'Unavailable', 'node/eu~1': held }), 'eu:till', path)).toBe(prices);
    const forbidden = inMailbox(tree({ 'node/eu': 'Forbidden', 'node/eu~1': held }), 'eu:till', path);
    await expect(forbidden).rejects.toThrow('node/eu does not answer');
    const silent = inMailbox(tree({ 'node/eu': 'Unavailable', 'node/eu~1': 'Unavailable' }), 'eu:till', path);
    await expect(silent).rejects.toThrow('node/eu~1 does not answer');
  });

  it('cannot be read without a parent, and the command says so', async () => {
    const message = 'the kubeconfig has neither mailbox/us:till nor node/us, its parent: is "us:till" right?';
    await expect(inMailbox(tree({ 'node/eu': {} }), 'us:till', path)).rejects.toThrow(message);
  });
});

it('shows the object on the cluster, or how to look if the kubeconfig does not reach it', async () => {
  expect(await onCluster(tree({ 'cluster/eu:till': { [path]: prices } }), 'eu:till', path)).toMatch(/there, uid u-1$/);
  expect(await onCluster(tree({ 'cluster/eu:till': {} }), 'eu:till', path)).toMatch(/it is not there yet/);
  expect(await onCluster(tree({ 'node/eu': {} }), 'eu:till', path)).toBe(
    `cluster/eu:till: the kubeconfig of the tree does not reach this cluster; look there with the cluster's own kubeconfig: kubectl get --raw ${path}`,
  );
});
