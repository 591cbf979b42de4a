import { css, html } from "lit";

/** The mark and the name, and after it the session's, where there is one. */
export function brand(sessionId = "") {
  return html`<span class="brand-line">
    <svg viewBox="0 0 18 18" aria-hidden="true">
      <rect x="1" y="2" width="16" height="4" rx="1" fill="var(--trusted)"></rect>
      <rect x="1" y="7.5" width="7" height="4" rx="1" fill="var(--trusted)"></rect>
      <rect x="9" y="7.5" width="3" height="4" rx="1" fill="var(--failed)"></rect>
      <rect x="13" y="7.5" width="4" height="4" rx="1" fill="var(--skipped)"></rect>
      <rect x="1" y="13" width="16" height="4" rx="1" fill="var(--trusted)"></rect>
    </svg>
    <span>Wellwritten <span class="session" data-testid="session-id">${sessionId}</span></span>
  </span>`;
}

export const brandStyle = css`
  .brand-line {
    display: flex;
    align-items: center;
    gap: 9px;
    font-size: 13.5px;
    font-weight: 600;
    white-space: nowrap;
  }
  .brand-line svg {
    width: 18px;
    height: 18px;
    flex: none;
  }
  .brand-line .session {
    font-weight: 400;
    color: var(--ink-faint);
  }
`;
