/** Rules of what is told of single objects, taken away: of exact statuses, of what is born at the edge, and of mailboxes. */
import { Acknowledgements, type AcknowledgingSession } from '../../../core/session/acknowledgements.ts';
import { EdgeReports } from '../../../edge-agent/agent/edge-reports.ts';
import { ExactStatuses } from '../../../relay/gather/status/exact-statuses.ts';
import { MailboxContents } from '../../../relay/views/mailbox-view.ts';
import type { Canaries } from './canary.ts';

export const reportCanaries: Canaries = {
  'burial-untold': {
    break() {
      // What has gone at the edge may be there still, as far as anybody is told.
      const { entryOf } = EdgeReports.prototype;
      EdgeReports.prototype.entryOf = function (entry) {
        return entryOf.call(this, entry) ?? 'unsure';
      };
    },
  },
  'acknowledged-unread': {
    break() {
      // What a child has acknowledged is told before whoever hears of it can read it.
      const { note } = Acknowledgements.prototype;
      const told = new WeakMap<AcknowledgingSession, () => void>();
      Acknowledgements.prototype.note = function (session, cursor) {
        const tell = told.get(session) ?? session.written.bind(session);
        told.set(session, tell);
        session.written = () => {};
        note.call(this, session, cursor);
        tell();
      };
    },
  },
  'change-unwatched': {
    break() {
      // Of what a commit changes in a mailbox, who watches it hears all but the last.
      const { changed } = MailboxContents.prototype;
      MailboxContents.prototype.changed = function () {
        return changed.call(this)?.slice(0, -1);
      };
    },
  },
  'former-status-kept': {
    break() {
      // The status of an object that has one place stays when it has several.
      const { write } = ExactStatuses.prototype;
      ExactStatuses.prototype.write = function (id, placement, expected) {
        if (expected === 1) write.call(this, id, placement, expected);
      };
    },
  },
};
