/** Canaries that remove rules of reports about single objects: exact statuses, objects created at the edge, and mailboxes. */
import { Acknowledgements, type AcknowledgingSession } from '../../../core/session/acknowledgements.ts';
import { EdgeReports } from '../../../edge-agent/agent/edge-reports.ts';
import { Aggregates } from '../../../relay/gather/aggregates/aggregates.ts';
import { StatusRecord } from '../../../relay/gather/aggregates/status-record.ts';
import { MailboxContents } from '../../../relay/views/mailbox-view.ts';
import type { Canaries } from './canary.ts';

export const reportCanaries: Canaries = {
  'removal-not-reported': {
    break() {
      // The agent reports no removal at the edge: it treats a removed object as unknown.
      const { entryOf } = EdgeReports.prototype;
      EdgeReports.prototype.entryOf = function (entry) {
        return entryOf.call(this, entry) ?? 'unsure';
      };
    },
  },
  'acknowledgement-announced-early': {
    break() {
      // An acknowledgement is announced before the store has it, so a listener can't read it yet.
      const { note } = Acknowledgements.prototype;
      const announcements = new WeakMap<AcknowledgingSession, () => void>();
      Acknowledgements.prototype.note = function (session, cursor) {
        const announce = announcements.get(session) ?? session.written.bind(session);
        announcements.set(session, announce);
        session.written = () => {};
        note.call(this, session, cursor);
        announce();
      };
    },
  },
  'change-not-watched': {
    break() {
      // A watcher of a mailbox receives all changes of a commit except the last one.
      const { changed } = MailboxContents.prototype;
      MailboxContents.prototype.changed = function () {
        return changed.call(this)?.slice(0, -1);
      };
    },
  },
  'state-not-aggregated': {
    break() {
      // A new state of an object does not change the aggregate of the object.
      Aggregates.prototype.reported = () => undefined;
    },
  },
  'former-status-kept': {
    break() {
      // The status of an object that had one destination stays when the object gets several destinations.
      StatusRecord.prototype.get = () => undefined;
    },
  },
};
