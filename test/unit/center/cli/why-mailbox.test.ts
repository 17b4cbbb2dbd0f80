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

describe('the object on the cluster', () => {
  const till = (replicas: number, readyReplicas: number, conditions: object[] = []): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', uid: 'u-1', generation: 1 },
    spec: { replicas },
    status: {
      observedGeneration: 1,
      replicas: readyReplicas,
      updatedReplicas: readyReplicas,
      readyReplicas,
      availableReplicas: readyReplicas,
      conditions,
    },
  });
  const refused = {
    type: 'ReplicaFailure',
    status: 'True',
    message: 'pods "till-5" is forbidden: exceeded quota: small, requested: cpu=2, used: cpu=0, limited: cpu=1',
  };

  it('is shown by its context, with what is wrong with it', async () => {
    const at = (object: KubeObject) =>
      onCluster(tree({ 'cluster/eu:till': { [path]: object } }), 'eu:till', path, prices);
    expect(await at(prices)).toBe('cluster/eu:till: it is there, uid u-1');
    expect(await at(till(4, 4))).toBe('cluster/eu:till: it is there, uid u-1');
    expect(await at(till(4, 2))).toContain('uid u-1, InProgress (LessReplicas): 2 of 4 replicas exist');
    expect(await at(till(4, 2, [refused]))).toContain('exceeded quota: small');
    expect(await onCluster(tree({ 'cluster/eu:till': {} }), 'eu:till', path, prices)).toMatch(/it is not there yet/);
  });

  it('is asked for at the parent of an enrolled agent, through the tree', async () => {
    const there = { [`/tree/eu:till/cluster${path}`]: prices };
    expect(await onCluster(tree({ 'node/eu': there }), 'eu:till', path, prices)).toMatch(/there, uid u-1$/);
  });

  it('is as the agent has reported it, if the cluster does not answer', async () => {
    const line = await onCluster(tree({ 'node/eu': 'Unavailable' }), 'eu:till', path, till(4, 2));
    expect(line).toBe(
      `cluster/eu:till: it can't be read through the tree (node/eu does not answer); the agent's last report of it, InProgress (LessReplicas): 2 of 4 replicas exist; look there with the cluster's own kubeconfig: kubectl get --raw ${path}`,
    );
  });
});
