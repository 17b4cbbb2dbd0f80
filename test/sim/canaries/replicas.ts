/** Canaries that remove rules of children that go from one replica to another. */
import { ChildSession } from '../../../core/session/child-session.ts';
import { WatermarkGate } from '../../../core/session/watermark-gate.ts';
import { Ownership } from '../../../relay/replicas/ownership.ts';
import { ReplicaPlace } from '../../../relay/replicas/replica-place.ts';
import { HandedReleases } from '../../../relay/rollout/handed.ts';
import type { Canaries } from './canary.ts';

export const replicaCanaries: Canaries = {
  'attach-sequence-ignored': {
    break() {
      ReplicaPlace.prototype.superseded = () => undefined;
      const { attached } = Ownership.prototype;
      // The replica that reports last gets the child, whatever sequence it reports.
      Ownership.prototype.attached = function (replica, child, _sequence, role) {
        const { sequence = 0 } = this.children.get(child) ?? {};
        return attached.call(this, replica, child, sequence + 1, role);
      };
    },
  },
  'watermark-gate-open': {
    break() {
      WatermarkGate.prototype.isOpen = () => true;
    },
  },
  'received-below-ignored': {
    break() {
      // A node that has lost its store ignores the rows that its children have received from above.
      Object.defineProperty(ChildSession.prototype, 'parentHasReplicas', { get: () => false });
    },
  },
  'handed-release-ignored': {
    break() {
      // A replica ignores an agent's report that another replica handed a release to it.
      HandedReleases.prototype.isNews = () => false;
      HandedReleases.prototype.hasIt = () => false;
      HandedReleases.prototype.isBehind = () => undefined;
    },
  },
  'granted-before-reported': {
    break() {
      // The new owner counts the child before the old owner has left it out.
      const { attached } = Ownership.prototype;
      Ownership.prototype.attached = function (replica, child, sequence, role) {
        attached.call(this, replica, child, sequence, role);
        const held = this.children.get(child);
        if (held && !held.granted) this.children.set(child, { ...held, granted: true });
      };
    },
  },
};
